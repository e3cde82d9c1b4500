"""An instance's parameters: the template's defaults with the entry's `set` upon them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.model.parameters import PARAMETERS, Checked, Value, check_value
from controller.model.problem import DocPath, Problem
from controller.model.resolved import Origin
from controller.resolve.declared import RULE, Declared, unsupported
from controller.resolve.estate import EntrySource
from controller.resolve.origins import ESTATE, value_text
from controller.resolve.template import Template
from controller.resolve.waivers import Waivers

CONTEXT_RULE: Final = "C11"
"""A context above the template's maximum may be waived like one above the model's."""
_CONTEXT: Final = "max_model_len"
_OF_SPECULATION: Final = ("spec_tokens", "spec_model")
"""Defaults that mean nothing once an entry has switched `spec_method` off."""


def resolved_parameters(
    source: EntrySource, template: Template, waivers: Waivers, report: list[Problem]
) -> tuple[dict[str, Value], dict[str, Origin]]:
    """Every parameter that has a value, in the template's order, and where each came from (as `set.NAME`)."""
    written = source.entry.set
    left_out = _OF_SPECULATION if written.get("spec_method", True) is None else ()
    values: dict[str, Value] = {}
    origins: dict[str, Origin] = {}
    for name, declared in template.parameters.items():
        if name not in written and name not in left_out and declared.default is not None:
            values[name] = declared.default
            origins[f"set.{name}"] = Origin(value_text(declared.default), declared.place, declared.source)
    for name, value in written.items():
        checked = _checked(source, template, name, value, waivers, report)
        if checked is not None:
            values[name] = checked
            origins[f"set.{name}"] = Origin(value_text(checked), source.place(("set", name)), ESTATE)
    in_order = [name for name in template.parameters if name in values]
    return {name: values[name] for name in in_order}, {f"set.{name}": origins[f"set.{name}"] for name in in_order}


def _checked(
    source: EntrySource, template: Template, name: str, value: object, waivers: Waivers, report: list[Problem]
) -> Value | None:
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
        report.append(waivers.lowered(source, _out_of_bounds(source, path, declared, checked.value, fault)))
    return checked.value


def _not_open(template: Template, name: str) -> tuple[str, str]:
    dialect = template.dialect
    if name not in PARAMETERS or name not in dialect.supported:
        return unsupported(name, dialect)
    open_ones = ", ".join(sorted(key for key, declared in template.parameters.items() if declared.settable))
    return f"template {template.identifier} does not open {name}", f"it lets you set {open_ones}"


def context_fault(template: Template, parameters: Mapping[str, Value]) -> str:
    """What is wrong with a context above the template's maximum; empty for one that is not."""
    name = _CONTEXT
    declared, value = template.parameters.get(name), parameters.get(name)
    if declared is None or value is None or not _is_above(declared, value):
        return ""
    return declared.bound_fault(value) or ""


def _is_above(declared: Declared, value: Value) -> bool:
    return declared.name == _CONTEXT and declared.high is not None and isinstance(value, int) and value > declared.high


def _out_of_bounds(source: EntrySource, path: DocPath, declared: Declared, value: Value, fault: str) -> Problem:
    rule, above = CONTEXT_RULE, _is_above(declared, value)
    bounds = f"the template allows {_bounds(declared)}"
    return source.problem(path, rule if above else RULE, fault, bounds)


def _bounds(declared: Declared) -> str:
    low = "" if declared.low is None else f"from {declared.low} "
    return f"{low}up to {declared.high}" if declared.high is not None else f"{low}upwards"
