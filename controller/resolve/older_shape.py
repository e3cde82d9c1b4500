"""Estates of the older tooling are read as they are: their few names that differ are put into today's words, places kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from controller.model.document import Document, Plain
from controller.model.problem import DocPath, Place, Problem

_RENAMED: Final = {"compose_name": "compose"}
_DROPPED: Final = frozenset({"created", "updated"})
"""Notes of the older tooling at the top of the file (in an entry they are fields of their own)."""


def modernised(document: Document, report: list[Problem]) -> Document:
    """The same document in today's words; the very same object when it has nothing old."""
    data = document.data
    if not isinstance(data, dict):
        return document
    entries = data.get("estate")
    listed = entries if isinstance(entries, list) else []
    old = [i for i, entry in enumerate(listed) if isinstance(entry, dict) and not _RENAMED.keys().isdisjoint(entry)]
    if not old and _DROPPED.isdisjoint(data):
        return document
    fresh: dict[str, Plain] = {key: value for key, value in data.items() if key not in _DROPPED}
    places, keys = dict(document.places), dict(document.keys)
    for position in old:
        for before, after in _RENAMED.items():
            _copy_place(places, ("estate", position), before, after)
            _copy_place(keys, ("estate", position), before, after)
    if old:
        fresh["estate"] = [_renamed(document, i, entry, report) for i, entry in enumerate(listed)]
    return replace(document, data=fresh, places=places, keys=keys)


def _renamed(document: Document, position: int, entry: Plain, report: list[Problem]) -> Plain:
    if not isinstance(entry, dict):
        return entry
    for before, after in _RENAMED.items():
        if before in entry and after in entry:
            message = f"{before} is the older name of {after}, and both are here"
            report.append(document.problem(("estate", position, before), "estate", message, f"remove {before}", at_key=True))
            return {key: value for key, value in entry.items() if key != before}
    return {_RENAMED.get(key, key): value for key, value in entry.items()}


def _copy_place(places: dict[DocPath, Place], entry: DocPath, before: str, after: str) -> None:
    if (found := places.get((*entry, before))) is not None:
        places.setdefault((*entry, after), found)
