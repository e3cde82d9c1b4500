"""Overlays that an instance names. This version has none to put on, so that one which is wanted is refused, not forgotten."""

from __future__ import annotations

from typing import Final

from controller.model.problem import Problem
from controller.ports import Catalogue
from controller.resolve.estate import EntrySource
from controller.resolve.nearest import nearest
from controller.resolve.template import Template

RULE: Final = "overlay"


def check_overlays(source: EntrySource, template: Template, catalogue: Catalogue, report: list[Problem]) -> None:
    """The template's overlays without those that the entry removes (`-id`), and those that it adds."""
    written = source.entry.overlays
    removed = {text.removeprefix("-") for text in written if text.startswith("-")}
    own = template.steward.overlays
    for position, identifier in enumerate(own):
        if identifier not in removed:
            fault = _fault(identifier, catalogue)
            report.append(template.document.problem(("x-steward", "overlays", position), RULE, *fault))
    for position, text in enumerate(written):
        identifier = text.removeprefix("-")
        if not text.startswith("-"):
            report.append(source.problem(("overlays", position), RULE, *_fault(identifier, catalogue)))
        elif identifier not in own:
            message = f"template {template.identifier} has no overlay {identifier} to remove"
            report.append(source.problem(("overlays", position), RULE, message, nearest(identifier, own, "it has")))


def _fault(identifier: str, catalogue: Catalogue) -> tuple[str, str]:
    if catalogue.find("overlays", identifier) is None:
        hint = nearest(identifier, catalogue.ids("overlays"), "the catalogue has")
        return f"there is no overlay {identifier}", hint
    return f"overlay {identifier} cannot be put on: this version does not apply overlays", "remove it"
