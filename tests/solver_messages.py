"""The messages of the solver's rules, one file to read them in. `python -m tests.solver_messages` writes it anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from controller.model.problem import dotted
from controller.solver import RULES
from tests.unit import (
    test_solver_container,
    test_solver_engine,
    test_solver_formats,
    test_solver_limits,
    test_solver_memory,
    test_solver_overlays,
    test_solver_parallel,
    test_solver_rig,
    test_solver_settings,
)
from tests.unit.judging import Case

FILE: Final = Path(__file__).parent / "unit" / "golden" / "solver_messages.txt"
CASES: Final[tuple[Case, ...]] = (
    *test_solver_parallel.CASES,
    *test_solver_formats.CASES,
    *test_solver_engine.CASES,
    *test_solver_memory.CASES,
    *test_solver_rig.CASES,
    *test_solver_container.CASES,
    *test_solver_settings.CASES,
    *test_solver_overlays.CASES,
    *test_solver_limits.CASES,
)


def messages() -> str:
    """What each rule says in each case that it finds something in, in the order of the rules."""
    return "".join(line for rule in RULES for line in (f"{rule.id}  {rule.title}\n", *_of_rule(rule.id), "\n"))


def _of_rule(rule: str) -> Iterator[str]:
    for case in CASES:
        if case.rule == rule and case.kind != "passing":
            for finding in case.findings:
                yield f"  {case.about}\n"
                yield f"    {finding.severity}: {dotted(finding.path)}: {finding.message}\n"
                if finding.hint:
                    yield f"    -> {finding.hint}\n"


def main() -> int:
    """Write the file anew."""
    FILE.write_text(messages())
    return 0


if __name__ == "__main__":
    sys.exit(main())
