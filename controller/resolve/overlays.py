"""Which overlays an instance has: its template's, those that it adds, and what they require, without those that it removes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from controller.model.document import Document
from controller.model.overlay import OVERLAYS, Overlay
from controller.model.problem import Problem
from controller.resolve.estate import EntrySource
from controller.resolve.nearest import nearest
from controller.resolve.origins import COMPOSE, ESTATE, OVERLAY
from controller.resolve.overlay_content import PayloadSource, PutOn, content_of
from controller.resolve.profiles import Filed, Profiles
from controller.resolve.template import Template

RULE: Final = "overlay"


@dataclass(frozen=True, slots=True)
class _Mention:
    """Where an overlay is named."""

    text: str
    document: Document
    path: tuple[str | int, ...]
    source: str


def overlays_of(
    source: EntrySource, template: Template, profiles: Profiles, payloads: PayloadSource | None, report: list[Problem]
) -> tuple[PutOn, ...]:
    """All of them in the order in which they are put on; a name that means nothing goes into the report."""
    choice = _Choice(profiles, report)
    removed = choice.removed(source, template)
    for mention in _mentions(source, template):
        choice.add(mention, removed)
    ordered = sorted(choice.found.values(), key=lambda chosen: (chosen[0].profile.order, chosen[0].profile.id))
    return tuple(_put_on(record, mention, payloads) for record, mention in ordered)


def _mentions(source: EntrySource, template: Template) -> Iterator[_Mention]:
    for position, identifier in enumerate(template.steward.overlays):
        yield _Mention(identifier, template.document, ("x-steward", "overlays", position), COMPOSE)
    for position, text in enumerate(source.entry.overlays):
        if not text.startswith("-"):
            yield _Mention(text, source.document, (*source.path, "overlays", position), ESTATE)


@dataclass(slots=True)
class _Choice:
    """The overlays so far, by their ids."""

    profiles: Profiles
    report: list[Problem]
    found: dict[str, tuple[Filed[Overlay], _Mention]] = field(default_factory=dict)

    def add(self, mention: _Mention, removed: frozenset[str]) -> None:
        """Take in what is named, and what that requires, unless the instance removes it."""
        if mention.text in removed:
            return
        record = overlay_named(self.profiles, mention.text)
        if record is None:
            if (OVERLAYS, mention.text) not in self.profiles.problems:
                self._unknown(mention)
            return
        identifier = record.profile.id
        if identifier in removed or identifier in self.found:
            return
        self.found[identifier] = (record, mention)
        for position, needed in enumerate(record.profile.requires):
            self.add(_Mention(needed, record.document, ("requires", position), OVERLAY), removed)

    def removed(self, source: EntrySource, template: Template) -> frozenset[str]:
        """Ids that the entry takes off; one that the template does not have is a problem."""
        own = self._with_required(template.steward.overlays)
        gone: set[str] = set()
        for position, text in enumerate(source.entry.overlays):
            if not text.startswith("-"):
                continue
            meant = self._identifier(text[1:])
            gone |= {meant, text[1:]}
            if meant not in own:
                message = f"template {template.identifier} has no overlay {text[1:]} to remove"
                self.report.append(source.problem(("overlays", position), RULE, message, nearest(text[1:], own, "it has")))
        return frozenset(gone)

    def _with_required(self, named: tuple[str, ...]) -> frozenset[str]:
        """The ids behind these names, with all that they require."""
        reached: set[str] = set()
        waiting = list(named)
        while waiting:
            name = waiting.pop()
            record = overlay_named(self.profiles, name)
            identifier = record.profile.id if record else name
            if identifier not in reached:
                reached.add(identifier)
                waiting += record.profile.requires if record else ()
        return frozenset(reached)

    def _identifier(self, name: str) -> str:
        record = overlay_named(self.profiles, name)
        return record.profile.id if record else name

    def _unknown(self, mention: _Mention) -> None:
        hint = nearest(mention.text, self.profiles.catalogue.ids(OVERLAYS), "the catalogue has")
        self.report.append(mention.document.problem(mention.path, RULE, f"there is no overlay {mention.text}", hint))


def overlay_named(profiles: Profiles, name: str) -> Filed[Overlay] | None:
    """The record of an id, or the one that has this name as an alias; None when there is none, or when it is wrong."""
    if (found := profiles.get(OVERLAYS, name, Overlay)) is not None or (OVERLAYS, name) in profiles.problems:
        return found
    return next((record for record in profiles.all(OVERLAYS, Overlay) if name in record.profile.aliases), None)


def _put_on(record: Filed[Overlay], mention: _Mention, payloads: PayloadSource | None) -> PutOn:
    overlay = record.profile
    place = mention.document.place(mention.path)
    found = content_of(overlay, record.document, payloads)
    if isinstance(found, str):
        return PutOn(overlay, record.document, place, mention.source, lacking=found)
    return PutOn(overlay, record.document, place, mention.source, found)
