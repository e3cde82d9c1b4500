"""What the rules say of every template on rigs that users have. `python -m tests.verdict_tables` writes the table anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from controller.model.problem import Problem, Severity
from controller.model.reading import Known
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.resolve import Surroundings, resolve
from controller.settings import Bounds
from controller.solver import KNOWN_RULES
from controller.solver.registry import rule_order
from controller.sources.rig_facts import rig_facts
from tests.unit.resolving import document
from tests.unit.templates import CATALOGUE, TEMPLATES, whole

FILE: Final = Path(__file__).parent / "unit" / "golden" / "verdicts.txt"
RIGS: Final = (
    "1x:rtx-3090",
    "2x:rtx-3090",
    "2x:rtx-3090:nvlink",
    "1x:rtx-5090",
    "1x:rtx-3090+1x:rtx-5090",
    "4x:rtx-3090",
)
NEEDED: Final = {
    "model_path": "a-model",
    "model_file": "a-model.gguf",
}
"""What a template of any model must be told."""
WORDS: Final = {Severity.ERROR: "fails", Severity.WARNING: "warns"}


def facts(rig: str) -> RigFacts:
    """The cards of a rig's grammar text."""
    found = rig_facts(rig, CATALOGUE, Bounds())
    assert isinstance(found, RigFacts), found
    return found


def entry(template: str, rig: RigFacts) -> str:
    """One instance on as many cards as the template needs and the rig has."""
    made = whole(template)
    engine, requires = made.x_steward.engine, made.x_steward.requires
    there = len(rig.cards.value) if isinstance(rig.cards, Known) else 0
    count = min(requires.gpus or requires.tp * requires.pp, there)
    given = {} if made.x_steward.model else {name: value for name, value in NEEDED.items() if name in made.x_steward.parameters}
    image = ", image: an-image:1" if engine in ("generic", "sglang-generic") else ""
    sets = ", ".join(f"{name}: {value}" for name, value in given.items())
    return f"estate: [{{name: it, compose: {template}, gpus: {list(range(count))}, port: 8010, set: {{{sets}}}{image}}}]"


def problems(template: str, rig: RigFacts) -> tuple[Problem, ...]:
    """What validation says of it."""
    found = resolve([document(entry(template, rig))], CATALOGUE, Surroundings(rig), "table")
    return found.problems if isinstance(found, Resolved) else found


def verdict(found: tuple[Problem, ...]) -> str:
    """The ids of the rules that have something to say, by how grave it is; other problems by their message."""
    parts = []
    for severity, word in WORDS.items():
        rules = {problem.rule for problem in found if problem.severity is severity}
        named = sorted(rules & KNOWN_RULES, key=rule_order) + sorted(rules - KNOWN_RULES)
        parts += [f"{word} {' '.join(named)}"] if named else []
    return "; ".join(parts) or "holds"


def lines() -> Iterator[str]:
    """One block a rig, one line a template."""
    width = max(map(len, TEMPLATES)) + 2
    for rig in RIGS:
        cards = facts(rig)
        yield f"{rig}\n"
        for template in TEMPLATES:
            yield f"  {template:<{width}}{verdict(problems(template, cards))}\n"
        yield "\n"


def main() -> int:
    """Write the table anew."""
    FILE.write_text("".join(lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
