"""The fixture that runs each contract test twice: in memory and, where an engine is there, on Docker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.adapters.docker.engine import DockerEngine
from controller.settings import Bounds
from tests.contract.rigs import Engine, Rig, memory_rig, real_rig


@pytest.fixture(params=["memory", pytest.param("docker", marks=pytest.mark.docker)])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    """An engine of either kind."""
    if request.param == "memory":
        yield memory_rig()
        return
    dead = DockerEngine(f"unix://{tmp_path}/nobody.sock", Bounds())

    def unreachable() -> Engine:
        return dead

    yield real_rig(request.getfixturevalue("docker_rig"), unreachable)
    dead.close()
