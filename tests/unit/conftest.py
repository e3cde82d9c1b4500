"""What several files of unit tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.memory_world import MemoryClock
from controller.simulation.scripted import ScriptedProcesses
from tests.unit.cli import Steward, steward_in


@pytest.fixture
def steward(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Steward:
    """The command line in an empty folder, without a Docker engine."""
    return steward_in(tmp_path, capsys, monkeypatch)


@pytest.fixture
def clock() -> MemoryClock:
    """A clock that stands still until it is moved."""
    return MemoryClock()


@pytest.fixture
def engine(clock: MemoryClock) -> SimulatedEngine:
    """A simulated engine with one image, whose containers are scripts."""
    made = SimulatedEngine(clock, ScriptedProcesses(clock))
    made.add_image("x:1")
    return made
