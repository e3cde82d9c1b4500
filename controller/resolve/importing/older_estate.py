"""Estates of the older tooling: each entry names a template, cards and a port; all else was in environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from controller.model.desired import Entry, EstateFile, Rig
from controller.model.document import Document, Plain
from controller.model.fields import NAME_PATTERN
from controller.model.problem import DocPath
from controller.resolve.importing.drafting import DraftEntry, DraftEstate, Ledger
from controller.resolve.nearest import nearest
from controller.resolve.profiles import Profiles
from controller.resolve.suggesting import HISTORICAL, entry_of, instance_name
from controller.resolve.template import read_template

_TEMPLATE_KEYS: Final = ("compose", "compose_name")
_NOTES: Final = ("created", "updated")
_OF_CARDS: Final = ("hardware_id", "gpu_count", "nvlink_active")
_ORDER: Final = ("name", "compose", "gpus", "port")


def older_estate(document: Document, profiles: Profiles, ledger: Ledger, *, current: bool) -> DraftEstate:
    """The estate in today's words. Without `current` an id that has passed to another template means the older one."""
    data = document.data if isinstance(document.data, dict) else {}
    estate = DraftEstate()
    for key, value in data.items():
        if key == "rig" and isinstance(value, dict):
            estate.rig = _rig(document, value, ledger)
        elif key in EstateFile.model_fields.keys() - {"estate", "schema_version", "rig"}:
            estate.others[key] = value
        elif key in _NOTES:
            ledger.changed(document.key_place((key,)), f"{key} is left out: git knows when a file was written")
        elif key not in ("estate", "schema_version"):
            ledger.lost(document.key_place((key,)), f"{key} means nothing to Steward")
    listed = data.get("estate")
    for position, written in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(written, dict):
            reader = _Reader(document, ("estate", position), profiles, ledger, current)
            estate.entries.append(reader.entry(written, [str(entry.keys["name"]) for entry in estate.entries]))
        else:
            ledger.lost(document.place(("estate", position)), "this is no instance")
    return estate


def _rig(document: Document, written: Mapping[str, Plain], ledger: Ledger) -> dict[str, Plain]:
    kept: dict[str, Plain] = {}
    for key, value in written.items():
        if key in _OF_CARDS:
            ledger.changed(document.key_place(("rig", key)), f"rig.{key} is not needed: Steward asks the driver for the cards")
        elif key in Rig.model_fields:
            kept[key] = value
        else:
            ledger.lost(document.key_place(("rig", key)), f"rig.{key} means nothing to Steward")
    return kept


class _Reader:
    """Reads one entry."""

    def __init__(self, document: Document, at: DocPath, profiles: Profiles, ledger: Ledger, current: bool) -> None:
        self.document = document
        self.at = at
        self.profiles = profiles
        self.ledger = ledger
        self.current = current

    def entry(self, written: Mapping[str, Plain], taken: Iterable[str]) -> DraftEntry:
        """The entry; what it lacks is taken from its template, with a comment."""
        found = DraftEntry({}, self.document.place(self.at))
        compose = self._compose(written, found)
        found.keys["name"] = self._name(written, compose, frozenset(taken))
        found.keys["compose"] = compose
        self._cards(written, found)
        self._port(written, found)
        for key, value in written.items():
            if key in (*_ORDER, *_TEMPLATE_KEYS):
                continue
            if key in _NOTES:
                found.explain("name", f"{key} {value}")
            elif key in Entry.model_fields:
                found.keys[key] = value
            else:
                self._lost(key, f"{key} means nothing to Steward", "`steward schema` tells the keys of an entry")
        found.keys = {key: found.keys[key] for key in (*_ORDER, *(key for key in found.keys if key not in _ORDER))}
        return found

    def _compose(self, written: Mapping[str, Plain], found: DraftEntry) -> str:
        """The template that the id meant when the file was written."""
        key = next((key for key in _TEMPLATE_KEYS if isinstance(written.get(key), str)), None)
        if key is None:
            self.ledger.lost(found.place, "the entry names no template", "write compose: ID; `steward catalog list` shows them")
            found.explain("compose", "LOOK: the file names no template")
            return "vllm/generic"
        name = str(written[key])
        known = self.profiles.catalogue.ids("composes")
        older = f"{HISTORICAL}{name}"
        if older in known and not self.current:
            message = f"{name} has been given to a newer template; the estate keeps the one that the file meant, {older}"
            self.ledger.changed(self.document.place((*self.at, key)), message, f"write compose: {name} to take the newer one")
            found.explain(
                "compose", f"What {name} was until now; `compose: {name}` takes the template that has its name today."
            )
            return older
        if name not in known:
            message = f"there is no template {name}"
            self.ledger.lost(self.document.place((*self.at, key)), message, nearest(name, known, "the catalogue has"))
            found.explain("compose", f"LOOK: {message}.")
        return name

    def _name(self, written: Mapping[str, Plain], compose: str, taken: frozenset[str]) -> str:
        """The name, made one that an instance can have, and that no other one has."""
        text = written.get("name")
        name = text if isinstance(text, str) else compose.rpartition("/")[2]
        if not re.fullmatch(NAME_PATTERN, name):
            fitting = instance_name(name)
            self.ledger.changed(self.document.place((*self.at, "name")), f"the name {name} becomes {fitting}")
            name = fitting
        base, number = name, 2
        while name in taken:
            name, number = f"{base}-{number}", number + 1
        return name

    def _cards(self, written: Mapping[str, Plain], found: DraftEntry) -> None:
        value = written.get("gpus")
        cards = _indices(value)
        if cards is None and isinstance(value, dict):
            found.keys["gpus"] = value
            return
        found.keys["gpus"] = cards if cards is not None else self._of_template(found, "gpus", [0])
        if cards is None:
            self.ledger.lost(self.document.place((*self.at, "gpus")), "the entry names no cards", "look at gpus in the estate")
            found.explain("gpus", "LOOK: the file names no cards; these are as many as the template wants.")

    def _port(self, written: Mapping[str, Plain], found: DraftEntry) -> None:
        value = written.get("port")
        if isinstance(value, str) and value.isdigit():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            found.keys["port"] = value
            return
        found.keys["port"] = self._of_template(found, "port", 8000)
        found.explain("port", "LOOK: the file names no port; this is the one that the template suggests.")

    def _of_template(self, found: DraftEntry, key: str, otherwise: Plain) -> Plain:
        template = read_template(str(found.keys["compose"]), self.profiles).template
        return otherwise if template is None else entry_of(template).keys[key]

    def _lost(self, key: str, message: str, hint: str = "") -> None:
        self.ledger.lost(self.document.key_place((*self.at, key)), message, hint)


def _indices(value: Plain) -> list[Plain] | None:
    """Cards as a list, also from `"0,1"` and `0`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    parts: list[Plain] = [*value] if isinstance(value, list) else []
    if isinstance(value, str) and value.strip():
        parts = [part.strip() for part in value.split(",")]
    elif not isinstance(value, list):
        return None
    return [int(part) if isinstance(part, str) and part.isdigit() else part for part in parts]
