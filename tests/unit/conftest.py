"""What several files of unit tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli import Steward, steward_in


@pytest.fixture
def steward(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Steward:
    """The command line in an empty folder, without a Docker engine."""
    return steward_in(tmp_path, capsys, monkeypatch)
