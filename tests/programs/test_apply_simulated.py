"""`steward apply --rig sim` as a program: it converges, says that its engines end with it, and ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.http_servers import free_port

LIMIT_S = 120
ESTATE = """\
rig: {{name: apply}}
estate:
  - {{name: chat, compose: vllm/generic, gpus: [0], port: {port}, set: {{model_path: m}}}}
"""
CALM = "gpus: [{profile: rtx-3090}]\nsimulation: {engines: {chat: {load: 500ms}}"
FULL = "{after: 0s, card: 0, foreign: {mib: 20000, process: a-game}}"
FREE = "{after: 22s, card: 0, foreign: {mib: 0, process: a-game}}"


def apply(folder: Path, cards: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run it in a folder of its own; its output is no terminal."""
    (folder / "desired").mkdir()
    (folder / "desired" / "estate.yml").write_text(ESTATE.format(port=free_port()))
    (folder / "rig.yml").write_text(f"{CALM}, cards: [{cards}]}}\n")
    words = ["--rig", f"sim:{folder / 'rig.yml'}", "--estate", str(folder / "desired"), "--state", str(folder / "state"), *more]
    command = [sys.executable, "-m", "controller.cli", "apply", *words]
    uncut = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=uncut)


@pytest.mark.parametrize("cards", ["", f"{FULL}, {FREE}"], ids=["calm", "memory-comes-back"])
def test_apply_converges_and_says_that_its_engines_end(tmp_path: Path, cards: str) -> None:
    """Given a simulated rig, also with a card full for 22 s, when it is applied, then all is ready and the end is told."""
    ended = apply(tmp_path, cards)
    assert ended.returncode == 0, ended.stderr
    assert "rig apply: converged" in ended.stdout
    assert "the simulated engines end with this process" in ended.stderr


def test_apply_gives_up_on_memory_that_does_not_come_back(tmp_path: Path) -> None:
    """Given a card that stays full, when the rig is applied for a while, then it fails and names the process."""
    ended = apply(tmp_path, FULL, "--timeout", "8s")
    assert ended.returncode == 1
    assert "WaitingForVram" in ended.stdout
    assert "(a-game) holds 19.5 GiB" in ended.stdout
