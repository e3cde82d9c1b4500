"""What several files of these tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.engine_program import Engines


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Engines]:
    """Starts simulated engines as processes, which end with the test."""
    engines = Engines(tmp_path)
    yield engines
    engines.end()
