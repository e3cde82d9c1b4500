"""What instances have to do with each other beside cards and ports: G6 and G7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.problem import Severity
from controller.solver.candidate import RigView
from controller.solver.dependencies import RULE as G7
from controller.solver.dependencies import dependency_findings
from controller.solver.rule import Rule
from controller.solver.rules_claims import claims_of
from controller.solver.tenant import Finding


def g6_served_names(view: RigView) -> Iterator[Finding]:
    """G6: a model name leads to one running instance."""
    owners: dict[str, str] = {}
    for candidate in view.candidates:
        for name in candidate.served_names if candidate.tenant.running else ():
            owner = owners.setdefault(name, candidate.name)
            if owner != candidate.name:
                message = f"{owner} serves the name {name} too: clients that go by name cannot tell the two apart"
                hint = "give one of them other served_names, or leave it where clients go by port"
                path = ("served_names",)
                yield Finding("G6", candidate.name, path, message, hint, Severity.WARNING, other=owner)


def g7_dependencies(view: RigView) -> Iterator[Finding]:
    """G7: `depends_on` names other instances and comes to an end."""
    yield from dependency_findings(claims_of(view).tenants)


RULES: Final = (
    Rule(
        "G6",
        "a served name that leads to one instance",
        Severity.WARNING,
        "two ports may serve one name, but whoever goes by name gets either",
        "other `served_names` for one of them",
        together=g6_served_names,
    ),
    Rule(
        G7,
        "depends_on that comes to an end",
        Severity.ERROR,
        "in a circle every instance waits for another for ever",
        "remove one of the links",
        together=g7_dependencies,
    ),
)
