"""Fixtures for tests on a real Docker engine: the private one of `make engine`, never the machine's own by accident."""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

# testcontainers reads these when it is imported: no helper container (its image cannot be pulled), published ports on loopback
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
os.environ.setdefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")

from docker import APIClient
from docker.errors import NotFound

from controller.adapters.docker.engine import DockerEngine
from controller.errors import EngineUnreachable
from controller.model.identity import LABEL_RIG
from controller.settings import Bounds
from tests.conftest import require

PYTHON_IMAGE: Final = "steward-test/python:3.11"
SIMULATED_IMAGE: Final = "steward-test/simulated:1"
_ROOT: Final = Path(__file__).parent.parent


def engine_address() -> str | None:
    """DOCKER_HOST, or else the socket of this checkout's private engine when it is there."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    folder = Path(os.environ.get("STEWARD_ENGINE_DIR", _ROOT / ".engine")).absolute()
    for path in (folder, folder.resolve()):  # the engine's scripts name it by the path that they were called by
        socket = Path(f"/run/steward-engine-{hashlib.sha256(str(path).encode()).hexdigest()[:8]}/docker.sock")
        if socket.is_socket():
            return f"unix://{socket}"
    return None


@pytest.fixture(scope="session")
def docker_host() -> Iterator[str]:
    """The address of an engine that answers; also in DOCKER_HOST while the tests run, for testcontainers."""
    host = engine_address()
    require("docker", host is not None, "DOCKER_HOST is not set and no private engine runs (make engine)")
    assert host is not None
    engine = DockerEngine(host, Bounds(docker_read=5.0))
    try:
        engine.engine_id()
    except EngineUnreachable as error:
        require("docker", available=False, reason=str(error))
    finally:
        engine.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", host)
        yield host


@pytest.fixture(scope="session")
def docker_api(docker_host: str) -> Iterator[APIClient]:
    """A plain client: the hand of somebody who is not Steward."""
    api = APIClient(docker_host, version="auto", timeout=30)
    yield api
    api.close()


@pytest.fixture(scope="session")
def python_image(docker_api: APIClient) -> str:
    """The image of the small containers in the tests."""
    try:
        docker_api.inspect_image(PYTHON_IMAGE)  # type: ignore[no-untyped-call]
    except NotFound:
        require("docker", available=False, reason=f"{PYTHON_IMAGE} is missing (make images)")
    return PYTHON_IMAGE


@dataclass(slots=True)
class DockerRig:
    """A rig name of its own on a real engine; whatever carries it in a label goes when the test ends."""

    name: str
    host: str
    api: APIClient
    engine: DockerEngine
    image: str
    _undo: list[Callable[[], object]] = field(default_factory=list)

    def later(self, undo: Callable[[], object]) -> None:
        """Do this at the end, last one first."""
        self._undo.append(undo)

    def remove_all(self) -> None:
        """Remove what the test made."""
        for container in self.api.containers(all=True, filters={"label": f"{LABEL_RIG}={self.name}"}):
            _ignoring_absence(partial(self.api.remove_container, container["Id"], force=True, v=True))
        for undo in reversed(self._undo):
            _ignoring_absence(undo)


@pytest.fixture
def docker_rig(docker_host: str, docker_api: APIClient, python_image: str) -> Iterator[DockerRig]:
    """An adapter on the real engine with a rig name of its own."""
    engine = DockerEngine(docker_host, Bounds())
    rig = DockerRig(f"t{uuid.uuid4().hex[:10]}", docker_host, docker_api, engine, python_image)
    yield rig
    rig.remove_all()
    engine.close()


def eventually(holds: Callable[[], Any], *, within: float = 15.0, every: float = 0.05) -> Any:
    """What `holds` returns as soon as it is true; fails the test when that takes too long."""
    end = time.monotonic() + within
    while not (value := holds()):
        if time.monotonic() > end:
            pytest.fail(f"still not so after {within:g} s")
        time.sleep(every)
    return value


def _ignoring_absence(undo: Callable[[], object]) -> None:
    try:
        undo()
    except NotFound:
        return
