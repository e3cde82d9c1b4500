"""An instance's parameters: the template's defaults with the entry's `set` upon them."""

from __future__ import annotations

from typing import Final

from controller.model.desired import Waiver
from controller.model.parameters import PARAMETERS, Checked, Value, check_value
from controller.model.problem import DocPath, Problem, Severity
from controller.model.resolved import Origin
from controller.resolve.declared import RULE, Declared, unsupported
from controller.resolve.estate import EntrySource
from controller.resolve.origins import COMPOSE, ESTATE, value_text
from controller.resolve.template import Template

_CONTEXT: Final = ("C11", "max_model_len")
"""A context above what the model has is a rule of its own, which a waiver may name."""


def resolved_parameters(
    source: EntrySource, template: Template, report: list[Problem]
) -> tuple[dict[str, Value], dict[str, Origin]]:
    """Every parameter that has a value, in the template's order, and where each came from (as `set.NAME`)."""
    written = source.entry.set
    values: dict[str, Value] = {}
    origins: dict[str, Origin] = {}
    for name, declared in template.parameters.items():
        if name not in written and declared.default is not None:
            values[name] = declared.default
            origins[f"set.{name}"] = Origin(value_text(declared.default), declared.place, COMPOSE)
    for name, value in written.items():
        checked = _checked(source, template, name, value, report)
        if checked is not None:
            values[name] = checked
            origins[f"set.{name}"] = Origin(value_text(checked), source.place(("set", name)), ESTATE)
    in_order = [name for name in template.parameters if name in values]
    return {name: values[name] for name in in_order}, {f"set.{name}": origins[f"set.{name}"] for name in in_order}


def _checked(source: EntrySource, template: Template, name: str, value: object, report: list[Problem]) -> Value | None:
    path: DocPath = ("set", name)
    declared = template.parameters.get(name)
    if declared is None or not declared.settable:
        report.append(source.problem(path, RULE, *_not_open(template, name)))
        return None
    if value is None:
        return None
    checked = check_value(name, value)
    if not isinstance(checked, Checked):
        report.append(source.problem(path, RULE, f"{name}: {checked.message}", checked.hint))
        return None
    if fault := declared.bound_fault(checked.value):
        report.append(_out_of_bounds(source, path, declared, checked.value, fault))
    return checked.value


def _not_open(template: Template, name: str) -> tuple[str, str]:
    dialect = template.dialect
    if name not in PARAMETERS or name not in dialect.supported:
        return unsupported(name, dialect)
    open_ones = ", ".join(sorted(key for key, declared in template.parameters.items() if declared.settable))
    return f"template {template.identifier} does not open {name}", f"it lets you set {open_ones}"


def _out_of_bounds(source: EntrySource, path: DocPath, declared: Declared, value: Value, fault: str) -> Problem:
    rule, name = _CONTEXT
    above = declared.name == name and declared.high is not None and isinstance(value, int) and value > declared.high
    if above and (waiver := waiver_of(source, rule)):
        return source.problem(path, rule, f"{fault}; waived: {waiver.reason}", severity=Severity.WARNING)
    bounds = f"the template allows {_bounds(declared)}"
    return source.problem(path, rule if above else RULE, fault, bounds)


def _bounds(declared: Declared) -> str:
    low = "" if declared.low is None else f"from {declared.low} "
    return f"{low}up to {declared.high}" if declared.high is not None else f"{low}upwards"


def waiver_of(source: EntrySource, rule: str) -> Waiver | None:
    """The entry's waiver of a rule."""
    return next((waiver for waiver in source.entry.waive if waiver.rule == rule), None)
