"""The parameters that a template opens to `set`, with its defaults and its tighter bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from controller.dialects.dialect import Dialect
from controller.model.compose import ParameterUse, XSteward
from controller.model.document import Document
from controller.model.parameters import PARAMETERS, Checked, Kind, Value, check_value, suggest
from controller.model.problem import DocPath, Place, Problem
from controller.resolve.derived import Derived
from controller.resolve.origins import COMPOSE

RULE: Final = "parameters"
_ALWAYS: Final = ("extra_args", "served_name")
"""What `set` may touch on every template, where the engine has it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One parameter of a template. `default` None: it has none, and is left out unless the instance sets it.

    `source` is the kind of the document that the default stands in.
    """

    name: str
    default: Value | None = None
    low: int | float | None = None
    high: int | float | None = None
    place: Place | None = None
    settable: bool = True
    source: str = COMPOSE

    def bound_fault(self, value: Value) -> str | None:
        """What is wrong with a value in the light of the template's bounds."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        if self.low is not None and value < self.low:
            return f"{self.name} {value} is below the template's minimum {self.low}"
        if self.high is not None and value > self.high:
            return f"{self.name} {value} is above the template's maximum {self.high}"
        return None


def declared_parameters(
    document: Document, steward: XSteward, dialect: Dialect, derived: Iterable[Derived], report: list[Problem]
) -> Mapping[str, Declared]:
    """Every parameter of the template by name, in the template's order, then those that are always there, then the derived."""
    found: dict[str, Declared] = {}
    for name, use in steward.parameters.items():
        if (declared := _declared(document, name, use, dialect, report)) is not None:
            found[name] = declared
    for name in _ALWAYS:
        if name in dialect.supported:
            found.setdefault(name, Declared(name))
    for value in derived:
        below = found.get(value.name) or Declared(value.name, settable=False)
        if value.name in dialect.supported and below.default is None:
            found[value.name] = _with_derived(below, value, document, report)
    return found


def _with_derived(below: Declared, derived: Derived, document: Document, report: list[Problem]) -> Declared:
    """The parameter with its derived default; one that is not listed under `parameters` is not open to `set`."""
    checked = check_value(derived.name, derived.value)
    if not isinstance(checked, Checked):
        message = f"{derived.name}: {checked.message}"
        report.append(derived.document.problem(derived.path, RULE, message, checked.hint))
        return below
    if fault := below.bound_fault(checked.value):
        message = f"{fault}; it comes from {derived.document.place(derived.path)}"
        path: DocPath = ("x-steward", "parameters", derived.name)
        report.append(document.problem(path, RULE, message, "give it a default of its own within the bounds"))
    return replace(below, default=checked.value, place=derived.document.place(derived.path), source=derived.source)


def _declared(document: Document, name: str, use: ParameterUse, dialect: Dialect, report: list[Problem]) -> Declared | None:
    path: DocPath = ("x-steward", "parameters", name)
    if name not in dialect.supported:
        message, hint = unsupported(name, dialect)
        report.append(document.problem(path, RULE, message, hint, at_key=True))
        return None
    declared = Declared(name, low=use.min, high=use.max, place=document.place(path))
    if (use.min is not None or use.max is not None) and PARAMETERS[name].kind not in (Kind.INTEGER, Kind.NUMBER):
        report.append(document.problem(path, RULE, f"{name} is no number, so it has no min and max", "remove them"))
    if use.default is None:
        return declared
    at = (*path, "default")
    checked = check_value(name, use.default)
    if not isinstance(checked, Checked):
        report.append(document.problem(at, RULE, checked.message, checked.hint))
        return None
    if fault := declared.bound_fault(checked.value):
        report.append(document.problem(at, RULE, fault, "let the default keep the bounds"))
    return Declared(name, checked.value, use.min, use.max, document.place(at))


def unsupported(name: str, dialect: Dialect) -> tuple[str, str]:
    """Message and hint for a parameter that the engine type does not have."""
    if name not in PARAMETERS:
        near = suggest(name)
        return (
            f"there is no parameter {name}",
            f"did you mean {near}?" if near else f"{dialect.name} has {_list(dialect.supported)}",
        )
    return f"{name} is no parameter of {dialect.name}", f"{dialect.name} has {_list(dialect.supported)}"


def _list(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
