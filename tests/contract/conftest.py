"""The fixtures that run each contract test on every kind of rig: in memory, of real processes, and Docker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.adapters.docker.engine import DockerEngine
from controller.adapters.http_probe import HttpProbe
from controller.settings import Bounds
from tests.contract.rigs import Engine, Rig, memory_rig, process_rig, real_rig

DOCKER = pytest.param("docker", marks=pytest.mark.docker)


@pytest.fixture(params=["memory", "processes", DOCKER])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    """An engine of any kind."""
    if request.param == "memory":
        yield memory_rig()
    else:
        yield from _live(request, tmp_path)


@pytest.fixture(params=["processes", DOCKER])
def live_rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    """An engine of a kind whose time passes by itself and whose ports are those of the machine."""
    yield from _live(request, tmp_path)


@pytest.fixture
def probe() -> Iterator[HttpProbe]:
    """The probe with a small bound for bodies."""
    made = HttpProbe(Bounds(http_body=20_000))
    yield made
    made.close()


def _live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    if request.param == "processes":
        with process_rig() as rig:
            yield rig
        return
    dead = DockerEngine(f"unix://{tmp_path}/nobody.sock", Bounds())

    def unreachable() -> Engine:
        return dead

    yield real_rig(request.getfixturevalue("docker_rig"), unreachable)
    dead.close()
