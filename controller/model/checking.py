"""Documents against models: the validator's errors become problems with a place, what was expected and a hint.

The validator reports every member of a union that did not fit; here one place gets one problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from controller.model import wording
from controller.model.compose import STEWARDS_OWN, Service, Services
from controller.model.document import Document, Plain
from controller.model.problem import DocPath, Problem
from controller.model.shapes import Shape, shape_of

RULE: Final = "schema"

M = TypeVar("M", bound=BaseModel)

_DECIDED_BY: Final = {
    "ports": "the instance's `port` and `bind` decide",
    "restart": "Steward starts engines again itself, within the instance's `restart`",
    "container_name": "containers are named after their instance",
    "networks": "the instance's `networks` decide",
    "deploy": "the instance's `gpus` decide",
    "init": "an init process always runs",
    "logging": "the log is always kept, with a limit",
    "labels": "labels are how Steward knows its containers",
    "healthcheck": "the instance's `health` decides",
}
_VERBATIM: Final = frozenset({"env", "environment"})
"""Mappings whose values reach the container as text."""


def check(model: type[M], document: Document, base: DocPath = ()) -> tuple[M | None, tuple[Problem, ...]]:
    """The value at `base` as a model, or None with every problem of it."""
    data = _at(document.data, base)
    altered = _altered(document, base)
    try:
        made = model.model_validate(data)
    except ValidationError as error:
        located = [_located(details, shape_of(model)) for details in error.errors(include_url=False)]
        findings = _without_misspelt(_collapsed(located), data)
        return None, (*(_problem(document, base, data, finding) for finding in findings), *altered)
    return (None if altered else made), altered


@dataclass(frozen=True, slots=True)
class _Finding:
    """One validator error at a path of the document.

    `choices` are the unions on the way, each with the member that was tried; `shape` is what the place allows, for a missing or
    unknown key what its mapping allows; `own_words` is the sentence of one of our field types.
    """

    path: DocPath
    kind: str
    shape: Shape
    choices: tuple[tuple[DocPath, str], ...]
    own_words: str


def _located(details: ErrorDetails, shape: Shape) -> _Finding:
    path: DocPath = ()
    choices: list[tuple[DocPath, str]] = []
    parent = shape
    chosen = False
    for part in details["loc"]:
        if shape.is_union and not chosen:
            choices.append((path, str(part)))
            chosen = True
            continue
        path, parent, chosen = (*path, part), shape, False
        shape = shape.below(part) or Shape((), shape.definitions)
    kind = details["type"]
    own = str(details["ctx"]["error"]) if kind == "value_error" else ""
    return _Finding(path, kind, parent if kind in ("extra_forbidden", "missing") else shape, tuple(choices), own)


def _collapsed(findings: Sequence[_Finding]) -> tuple[_Finding, ...]:
    """One finding a place; of each union those of the one member that was meant."""
    kept = list(findings)
    for place in sorted({path for finding in findings for path, _ in finding.choices}, key=len):
        members = [finding for finding in kept if place in dict(finding.choices)]
        meant = _meant(place, members)
        kept = [finding for finding in kept if finding not in members or finding in meant]
    first: dict[DocPath, _Finding] = {}
    for finding in kept:
        first.setdefault(finding.path, finding)
    return tuple(first.values())


def _meant(place: DocPath, members: Iterable[_Finding]) -> list[_Finding]:
    """The member that fits the value's outer form and fails inside of it, else any: the message names the whole union."""
    groups: dict[str, list[_Finding]] = {}
    for finding in members:
        groups.setdefault(dict(finding.choices)[place], []).append(finding)
    inside = [group for group in groups.values() if any(finding.path != place for finding in group)]
    return min(inside, key=len) if inside else next(iter(groups.values()), [])


def _without_misspelt(findings: Sequence[_Finding], data: Plain) -> tuple[_Finding, ...]:
    """Without the missing keys that an unknown one is a misspelling of: one slip, one problem."""
    meant = {
        (*finding.path[:-1], wording.closest(str(finding.path[-1]), _free_keys(finding, data)))
        for finding in findings
        if finding.kind == "extra_forbidden"
    }
    return tuple(finding for finding in findings if finding.kind != "missing" or finding.path not in meant)


def _problem(document: Document, base: DocPath, data: Plain, finding: _Finding) -> Problem:
    path = (*base, *finding.path)
    if finding.kind == "extra_forbidden":
        message, hint = _unknown_key(finding, data)
        return document.problem(path, RULE, message, hint, at_key=True)
    if finding.kind == "missing":
        inner = finding.shape.below(finding.path[-1])
        return document.problem(path, RULE, f"`{finding.path[-1]}` is missing", _what_to_add(inner))
    value = _at(data, finding.path)
    written = document.written.get(path)
    wanted = finding.own_words or f"expected {wording.expected(finding.shape)}"
    found = wording.found(value, written, hide=path[-1:] == ("secret",))
    return document.problem(path, RULE, f"{wanted}, found {found}", wording.hint(finding.shape, value, written))


def _what_to_add(shape: Shape | None) -> str:
    return f"add it: {wording.expected(shape)}" if shape else "add it"


def _unknown_key(finding: _Finding, data: Plain) -> tuple[str, str]:
    key = str(finding.path[-1])
    if finding.shape.title == Service.__name__ and key in STEWARDS_OWN:
        return f"`{key}` is set by Steward itself", f"remove it; {_DECIDED_BY[key]}"
    if finding.shape.title == Services.__name__:
        return f"unknown service `{wording.shortened(key)}`", "a template has exactly one service, named `engine`"
    known = wording.quoted_keys(finding.shape.keys, 40)
    hint = wording.did_you_mean(key, _free_keys(finding, data)) or f"expected {known}"
    return f"unknown key `{wording.shortened(key)}`", hint


def _free_keys(finding: _Finding, data: Plain) -> tuple[str, ...]:
    used = _at(data, finding.path[:-1])
    return tuple(key for key in finding.shape.keys if not (isinstance(used, dict) and key in used))


def _altered(document: Document, base: DocPath) -> tuple[Problem, ...]:
    """Environment values whose text would not arrive as it was written, such as `1.10`."""
    problems = []
    for path, text in document.written.items():
        value = _at(document.data, path)
        if value is None or len(path) < 2 or path[-2] not in _VERBATIM or path[: len(base)] != base:
            continue
        message = f"expected text, found {text}, which would reach the container as {wording.printed(value)}"
        problems.append(document.problem(path, RULE, message, f'quote it: "{text}"'))
    return tuple(problems)


def _at(data: Plain, path: DocPath) -> Plain:
    """The value at a path, or None."""
    for part in path:
        if isinstance(data, dict) and isinstance(part, str):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int):
            data = data[part] if part < len(data) else None
        else:
            return None
    return data
