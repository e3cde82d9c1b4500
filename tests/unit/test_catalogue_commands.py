"""The templates that come with Steward, resolved: none is at fault itself, and engines are told what the records say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from controller.model.resolved import Resolved
from tests.unit.argv_text import argv_text
from tests.unit.templates import TEMPLATES, alone

GOLDEN: Final = Path(__file__).parent / "golden" / "commands.txt"
ALWAYS: Final = re.compile(r"--(host|port|served-model-name|alias|metrics|slots|fit|shutdown-timeout)\b")
"""What Steward gives every engine, whatever the template."""
SWITCHED_ON: Final = {
    "vllm/default": 6,
    "vllm/long-text": 40,
    "vllm/long-text-no-mtp": 40,
    "vllm/long-vision": 39,
    "vllm/bounded-thinking": 39,
    "vllm/tools-text": 14,
    "vllm/dual-turbo": 38,
    "vllm/dual-tq3-mtp-genesis": 38,
    "vllm/dual-nvlink-turbo": 38,
}
"""Patches of the third-party bundle that a template has switched on, its own and the overlay's together."""
SOLVER_RULE: Final = re.compile(r"[CEG]\d+")


def commands() -> dict[str, list[str]]:
    """The lines of the golden file by template."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in GOLDEN.read_text().splitlines():
        if line.startswith("  "):
            lines.append(line.strip())
        elif line and not line.startswith("#"):
            lines = found[line] = []
    return found


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_is_at_fault_itself(name: str) -> None:
    """Given an estate with one instance of a template, when it is resolved, then nothing but a rule of the solver has a say."""
    found = alone(name)
    problems = found.problems if isinstance(found, Resolved) else found
    assert [str(problem) for problem in problems if not SOLVER_RULE.fullmatch(problem.rule)] == []


@pytest.mark.parametrize("name", commands())
def test_engines_are_told_what_the_records_say(name: str) -> None:
    """Given a template with a golden command line, when it is resolved, then the engine gets those flags and no others."""
    found = alone(name)
    assert isinstance(found, Resolved), found
    lines = argv_text(found.instances[0].spec.argv).splitlines()
    assert sorted(line for line in lines if not ALWAYS.match(line)) == sorted(commands()[name])


@pytest.mark.parametrize(("name", "count"), SWITCHED_ON.items())
def test_as_many_patches_are_switched_on_as_the_records_say(name: str, count: int) -> None:
    """Given a template with the patch bundle, when it is resolved, then the container has that many of its switches on."""
    found = alone(name)
    assert isinstance(found, Resolved), found
    env = found.instances[0].spec.env
    assert len([key for key, value in env if key.startswith("GENESIS_ENABLE_") and value == "1"]) == count
