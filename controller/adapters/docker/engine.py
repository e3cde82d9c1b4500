"""One Docker engine as one object that implements all the ports of an engine: containers, images, logs, events, texts."""

from __future__ import annotations

from controller.adapters.docker.containers import DockerContainers
from controller.adapters.docker.docker_info import DockerInfo
from controller.adapters.docker.events import DockerEvents
from controller.adapters.docker.images import DockerImages
from controller.adapters.docker.logs import DockerLogs
from controller.adapters.docker.texts import DockerTexts
from controller.adapters.docker.wire import Wire
from controller.settings import Bounds


class DockerEngine(DockerContainers, DockerImages, DockerLogs, DockerEvents, DockerTexts, DockerInfo):
    """The engine at one address, over one pool of connections; any thread may call any method."""

    def __init__(self, host: str | None, bounds: Bounds) -> None:
        """Remember the address (None: the usual socket); nothing connects before the first call."""
        super().__init__(Wire(host, bounds))

    def close(self) -> None:
        """Close the idle connections; a later call opens new ones."""
        self._wire.close()
