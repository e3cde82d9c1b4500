"""`steward overlays list` as values and as a JSON document. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict

from controller.resolve.overlay_builds import OverlayNeed


class FileState(StrEnum):
    """Whether the files of an overlay are there."""

    NONE = "none"
    AT_HAND = "at hand"
    FETCHED = "fetched"
    MISSING = "missing"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class OverlayLine:
    """How one overlay stands. `needs` are by engine; `with_image` is the verdict on the image that was asked about."""

    id: str
    title: str
    mechanism: str | None
    active: tuple[str, ...]
    needs: Mapping[str, OverlayNeed]
    with_image: OverlayNeed | None
    droppable_since: str
    blocked_on: tuple[str, ...]
    drop_when: str
    files: FileState


class NeedDocument(TypedDict):
    """A verdict with its reason."""

    need: str
    why: str


class OverlayDocument(TypedDict):
    """One overlay; what is not known or does not apply is null."""

    id: str
    title: str
    mechanism: str | None
    active: list[str]
    needs: dict[str, NeedDocument]
    with_image: NeedDocument | None
    droppable_since: str | None
    blocked_on: list[str]
    drop_when: str | None
    files: str


class OverlaysDocument(TypedDict):
    """All of them, in the order of their ids."""

    engine: str | None
    image: str | None
    overlays: list[OverlayDocument]


def overlays_document(lines: Iterable[OverlayLine], engine: str | None, image: str | None) -> OverlaysDocument:
    """The lines as JSON."""
    return {"engine": engine, "image": image, "overlays": [_line(line) for line in lines]}


def _line(line: OverlayLine) -> OverlayDocument:
    return {
        "id": line.id,
        "title": line.title,
        "mechanism": line.mechanism,
        "active": list(line.active),
        "needs": {engine: _need(need) for engine, need in line.needs.items()},
        "with_image": _need(line.with_image) if line.with_image else None,
        "droppable_since": line.droppable_since or None,
        "blocked_on": list(line.blocked_on),
        "drop_when": line.drop_when or None,
        "files": line.files.value,
    }


def _need(need: OverlayNeed) -> NeedDocument:
    return {"need": need.need.value, "why": need.why}
