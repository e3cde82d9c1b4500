"""The port Containers on a Docker engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from controller.adapters.docker.create import container_document, needs_image_id
from controller.adapters.docker.read import container_of, is_ours, summary_of
from controller.adapters.docker.wire import Wire, segment
from controller.errors import EnvironmentFault, NotFound, SpecFault, StewardError
from controller.model.fields import SecretRef
from controller.model.observed import Container
from controller.model.plan import CreateRequest

_HIDDEN: Final = "***"


class DockerContainers:
    """Containers over the wire; every method is one effect, or one read, of the engine."""

    def __init__(self, wire: Wire) -> None:
        """Use this connection."""
        self._wire = wire

    def list(self) -> tuple[Container, ...]:
        """Every container of the engine, ours in full, foreign ones in summary."""
        items = self._wire.get("/containers/json", {"all": 1})
        found = (self._in_full(item["Id"]) if is_ours(item) else summary_of(item) for item in items or ())
        return tuple(container for container in found if container is not None)

    def create(self, request: CreateRequest, env: Mapping[str, str], argv: Sequence[str]) -> str:
        """Create without starting, with secrets already put into `env` and `argv`; the id."""
        self._check_networks(request)
        body = container_document(request, env, argv, self._image_id(request), self._wire.api_version())
        try:
            made = self._wire.post("/containers/create", {"name": request.name}, body)
        except StewardError as error:
            raise type(error)(_redacted(str(error), request, env, argv)) from None
        try:
            self._join(made["Id"], request)
        except StewardError as error:
            raise self._undo(made["Id"], error) from error
        return str(made["Id"])

    def start(self, container: str) -> None:
        """Start; a container that runs already is fine."""
        self._wire.post(f"/containers/{segment(container)}/start")

    def stop(self, container: str, term_s: float) -> None:
        """SIGTERM, after `term_s` seconds SIGKILL; a container that does not run is fine."""
        grace = max(0, math.ceil(term_s))
        bound = grace + self._wire.bounds.docker_stop_margin
        self._wire.post(f"/containers/{segment(container)}/stop", {"t": grace}, timeout=bound)

    def remove(self, container: str) -> None:
        """Remove a container that does not run; one that is gone is fine, one that runs is a SpecFault."""
        try:
            self._wire.delete(f"/containers/{segment(container)}", {"v": 1})
        except NotFound:
            return
        except EnvironmentFault as error:
            if "already in progress" in str(error):
                return
            if "you cannot remove a" in str(error).lower():
                raise SpecFault(str(error)) from error
            raise

    def rename(self, container: str, name: str) -> None:
        """Give it this name; that it has it already is fine."""
        try:
            self._wire.post(f"/containers/{segment(container)}/rename", {"name": name})
        except SpecFault as error:
            if "same name" not in str(error):
                raise

    def unpause(self, container: str) -> None:
        """Let a paused container run on; one that runs is fine."""
        try:
            self._wire.post(f"/containers/{segment(container)}/unpause")
        except EnvironmentFault as error:
            if "is not paused" not in str(error):
                raise

    def reset_policy(self, container: str) -> None:
        """Set the restart policy back to `no`."""
        self._wire.post(f"/containers/{segment(container)}/update", body={"RestartPolicy": {"Name": "no"}})

    def engine_id(self) -> str:
        """The engine's own id, which names the lock."""
        return str(self._wire.get("/info")["ID"])

    def _in_full(self, container: str) -> Container | None:
        try:
            return container_of(self._wire.get(f"/containers/{container}/json"))
        except NotFound:
            return None  # it went between the list and this question

    def _image_id(self, request: CreateRequest) -> str:
        if request.image_id or not needs_image_id(request.spec):
            return request.image_id
        return str(self._wire.get(f"/images/{segment(request.spec.image)}/json")["Id"])

    def _check_networks(self, request: CreateRequest) -> None:
        """Ask first: the engine lets a stopped container join a network that is not there, and refuses at start."""
        for network in request.spec.networks:
            try:
                self._wire.get(f"/networks/{segment(network)}")
            except EnvironmentFault as error:
                raise EnvironmentFault(f"network {network}: {error}") from error

    def _join(self, container: str, request: CreateRequest) -> None:
        """Join the extra networks under the instance's name, which outlives the container's."""
        for network in request.spec.networks:
            body = {"Container": container, "EndpointConfig": {"Aliases": [request.identity.instance]}}
            self._wire.post(f"/networks/{segment(network)}/connect", body=body)

    def _undo(self, container: str, error: StewardError) -> StewardError:
        """Remove what a create left behind half-made; if even that fails, both reasons in one error."""
        try:
            self.remove(container)
        except StewardError as second:
            return EnvironmentFault(f"{error}; the half-made container {container[:12]} is still there: {second}")
        return error


def _redacted(text: str, request: CreateRequest, env: Mapping[str, str], argv: Sequence[str]) -> str:
    """The engine's sentence without the value of any secret that was put in."""
    values = [env.get(name, "") for name, value in request.spec.env if isinstance(value, SecretRef)]
    values += [filled for filled, value in zip(argv, request.spec.argv, strict=False) if isinstance(value, SecretRef)]
    for value in filter(None, values):
        text = text.replace(value, _HIDDEN)
    return text
