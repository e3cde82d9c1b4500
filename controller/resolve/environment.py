"""Environment variables: the template's, and the instance's upon them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from controller.model.compose import Service
from controller.model.document import Document, scalar_text
from controller.model.fields import SecretRef
from controller.model.problem import DocPath, Place, Problem
from controller.model.resolved import Secretive
from controller.resolve.estate import EntrySource
from controller.resolve.origins import COMPOSE, ESTATE
from controller.resolve.variables import ANYWHERE, expanded, variable_fault

RULE: Final = "compose"
Written = str | int | float | bool | SecretRef | None
"""A value as the files have it; null removes the variable."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable with its origin; None removes it."""

    name: str
    value: Secretive | None
    place: Place
    source: str


def template_variables(document: Document, service: Service, report: list[Problem]) -> tuple[Variable, ...]:
    """What the template sets; values still have their `${STEWARD_...}`."""
    written = service.environment if isinstance(service.environment, dict) else {}
    at: DocPath = ("services", "engine", "environment")
    for name, value in written.items():
        if isinstance(value, str) and (fault := variable_fault(value, ANYWHERE)):
            report.append(document.problem((*at, name), RULE, *fault))
    return _variables(document, at, written, COMPOSE, report)


def entry_variables(source: EntrySource, report: list[Problem]) -> tuple[Variable, ...]:
    """What the entry sets; its values are taken as they are, a `$` included."""
    return _variables(source.document, (*source.path, "env"), source.entry.env, ESTATE, report)


def _variables(
    document: Document, at: DocPath, written: Mapping[str, Written], word: str, report: list[Problem]
) -> tuple[Variable, ...]:
    found = []
    for name, value in written.items():
        path = (*at, name)
        if not name or "=" in name or "\0" in name:
            report.append(document.problem(path, word, f"{name!r} is no name of a variable", "leave out the =", at_key=True))
            continue
        text = value if value is None or isinstance(value, SecretRef) else scalar_text(value)
        found.append(Variable(name, text, document.place(path), word))
    return tuple(found)


def merged_environment(
    template: Iterable[Variable], entry: Iterable[Variable], values: Mapping[str, str]
) -> tuple[Variable, ...]:
    """The template's variables, expanded, with the entry's upon them, in name order; what null removed is gone."""
    merged: dict[str, Variable] = {}
    for variable in template:
        text = expanded(variable.value, values) if isinstance(variable.value, str) else variable.value
        merged[variable.name] = Variable(variable.name, text, variable.place, variable.source)
    merged |= {variable.name: variable for variable in entry}
    return tuple(merged[name] for name in sorted(merged) if merged[name].value is not None)
