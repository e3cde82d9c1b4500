"""The command line as a test uses it: an estate in a folder, one call, its exit code and what it printed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from controller.cli.main import main

NO_DOCKER: Final = "unix:///nonexistent/docker.sock"
ESTATE: Final = """\
rig: {name: home}
estate:
  - name: chat
    compose: simulated/default
    gpus: [0]
    port: 8010
    set: {max_model_len: 4096}
  - name: embed
    compose: simulated/default
    gpus: []
    port: 8011
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Steward:
    """`steward` in a folder of its own, with no Docker engine to reach."""

    folder: Path
    captured: pytest.CaptureFixture[str]

    @property
    def estate(self) -> Path:
        """The estate file."""
        return self.folder / "desired" / "estate.yml"

    def write(self, text: str) -> None:
        """Save the estate."""
        self.estate.parent.mkdir(exist_ok=True)
        self.estate.write_text(text)

    def __call__(self, *words: str) -> Ended:
        """One command."""
        self.captured.readouterr()
        code = main(words)
        printed = self.captured.readouterr()
        return Ended(code, printed.out, printed.err)


def steward_in(folder: Path, captured: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Steward:
    """A Steward whose settings all lie below the folder."""
    monkeypatch.chdir(folder)
    for name in ("ESTATE", "RIG", "LISTEN", "PROFILES"):
        monkeypatch.delenv(f"STEWARD_{name}", raising=False)
    monkeypatch.setenv("STEWARD_STATE", str(folder / "state"))
    monkeypatch.setenv("STEWARD_LOCK_DIR", str(folder / "lock"))
    monkeypatch.setenv("DOCKER_HOST", NO_DOCKER)
    monkeypatch.delenv("COLUMNS", raising=False)  # a runner of tests may set it
    return Steward(folder, captured)
