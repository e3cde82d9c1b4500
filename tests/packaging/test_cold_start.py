"""What the verbs that only read files must not import, so that an editor or a commit hook can run them at every save."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("docker", "fastapi", "httpx", "prometheus_client", "sqlite3", "uvicorn")
"""What only a controller, its store or its client needs; together they take longer to import than a validation lasts."""
TIMEOUT_S = 60
ESTATE = "estate: [{name: one, compose: simulated/default, gpus: [], port: 8010}]\n"
ASK = (
    "import io, json, sys\n"
    "from contextlib import redirect_stdout\n"
    "from controller.cli import main\n"
    "with redirect_stdout(io.StringIO()):\n"
    "    code = main(sys.argv[1:])\n"
    "print(json.dumps([code, sorted(sys.modules)]))\n"
)


def outcome(folder: Path, *words: str, estate: str = ESTATE) -> tuple[int, set[str]]:
    """The exit code of a command on an estate in that folder, and every module that it had imported by its end."""
    (folder / "desired").mkdir()
    (folder / "desired" / "estate.yml").write_text(estate)
    command = [sys.executable, "-c", ASK, *words, "--estate", str(folder / "desired"), "--state", str(folder / "state")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    code, modules = json.loads(ended.stdout)
    return code, set(modules)


@pytest.mark.parametrize(("rig", "output"), [("auto", "text"), ("sim", "json"), ("2x:rtx-3090", "github")])
def test_validate_imports_nothing_that_it_does_not_need(tmp_path: Path, rig: str, output: str) -> None:
    """Given a valid estate, when it is validated, then no SDK of a controller is imported, whatever the rig and the output."""
    code, modules = outcome(tmp_path, "validate", "--rig", rig, "--output", output)
    assert code == 0
    assert modules.isdisjoint(HEAVY)


def test_an_invalid_estate_costs_no_more(tmp_path: Path) -> None:
    """Given an estate with a problem, when it is validated, then the way to the report imports no SDK either."""
    code, modules = outcome(tmp_path, "validate", "--rig", "sim", estate="estate: [{nam: one}]\n")
    assert code == 1
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize("words", [("render", "one"), ("explain", "one"), ("schema", "estate")], ids=lambda words: words[0])
def test_the_other_verbs_on_files_do_the_same(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Given a verb that only reads files, when it is run, then it imports no SDK of a controller."""
    code, modules = outcome(tmp_path, *words, "--rig", "sim")
    assert code == 0
    assert modules.isdisjoint(HEAVY)
