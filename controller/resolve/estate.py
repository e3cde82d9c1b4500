"""The files of an estate joined into one, each entry with the place that it stands at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from controller.model.checking import check
from controller.model.desired import Defaults, Entry, EstateFile, Rig
from controller.model.document import Document, Plain
from controller.model.problem import DocPath, Place, Problem, Severity
from controller.model.wording import closest
from controller.resolve.older_shape import modernised

RULE: Final = "estate"
_SHARED: Final = ("schema_version", "rig", "defaults")
"""Top-level keys that may stand in several files only when they say the same."""
_TELLING: Final = ("name", "compose", "gpus", "port", "state", "share", "image", "set")
"""Keys of an entry that decide what other checks say about it."""


@dataclass(frozen=True, slots=True)
class EntrySource:
    """One entry and where it stands."""

    entry: Entry
    document: Document
    path: DocPath

    def place(self, path: DocPath = ()) -> Place:
        """Where a value of the entry stands."""
        return self.document.place(self.path + path)

    def problem(self, path: DocPath, rule: str, message: str, hint: str = "", severity: Severity = Severity.ERROR) -> Problem:
        """A problem of the entry."""
        return self.document.problem(self.path + path, rule, message, hint, severity=severity)


@dataclass(frozen=True, slots=True)
class Estate:
    """All files as one. `rig_document` and `defaults_document` are the files that hold those blocks, if one does."""

    entries: tuple[EntrySource, ...] = ()
    rig: Rig = Rig()
    rig_document: Document | None = None
    defaults: Defaults = Defaults()
    defaults_document: Document | None = None
    allow_prune: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    """Every name in the files, also of entries that are wrong otherwise, so that a mention of one is no second problem."""


def joined(documents: Sequence[Document], report: list[Problem]) -> Estate:
    """The estate with every entry that is valid by itself; what is not goes into the report."""
    modern = [modernised(document, report) for document in documents]
    usable = [document for document in modern if _is_mapping(document, report)]
    _check_presence(documents, usable, report)
    _check_equal(usable, report)
    headers = [_header(document, report) for document in usable]
    entries = [entry for document in usable for entry in _entries(document, report)]
    rig, rig_document = _first(usable, headers, lambda header: header.rig)
    defaults, defaults_document = _first(usable, headers, lambda header: header.defaults)
    return Estate(
        _unique(entries, report),
        rig or Rig(),
        rig_document,
        defaults or Defaults(),
        defaults_document,
        tuple(dict.fromkeys(name for header in headers for name in header.allow_prune)),
        frozenset(name for document in usable for name in _written_names(document)),
    )


def _is_mapping(document: Document, report: list[Problem]) -> bool:
    if isinstance(document.data, dict):
        return True
    empty = document.data is None
    message = "the file is empty" if empty else "expected keys such as rig and estate at the top of the file"
    hint = "write estate: [] if you mean no instance" if empty else "an estate file begins with estate:"
    report.append(document.problem((), RULE, message, hint))
    return False


def _check_presence(documents: Sequence[Document], usable: Sequence[Document], report: list[Problem]) -> None:
    if not documents:
        report.append(Problem(Severity.ERROR, RULE, "there is no estate file", "write desired/estate.yml"))
    holders = [document for document in usable if "estate" in _keys(document)]
    if usable and not holders:
        hint = "write estate: [] if you mean no instance"
        report.append(usable[0].problem((), RULE, "there is no estate key in any file", hint))
    for document in holders:
        if _keys(document)["estate"] is None:
            hint = "list the instances, or write estate: [] if you mean none"
            report.append(document.problem(("estate",), RULE, "estate has no value", hint, at_key=True))


def _check_equal(usable: Sequence[Document], report: list[Problem]) -> None:
    for key in _SHARED:
        holders = [document for document in usable if key in _keys(document)]
        for other in holders[1:]:
            if _keys(other)[key] != _keys(holders[0])[key]:
                first = holders[0].key_place((key,))
                message = f"{key} differs from {first}"
                report.append(other.problem((key,), RULE, message, "write it in one file only", at_key=True))


def _keys(document: Document) -> dict[str, Plain]:
    return document.data if isinstance(document.data, dict) else {}


def _header(document: Document, report: list[Problem]) -> EstateFile:
    """All but the entries. A block that is wrong is reported and stands at its default, so that the entries are checked too."""
    keys = {key: value for key, value in _keys(document).items() if key != "estate"}
    model, problems = check(EstateFile, replace(document, data=dict(keys)))
    if model is not None:
        return model
    report.extend(problems)
    good = {key: value for key, value in keys.items() if check(EstateFile, replace(document, data={key: value}))[0]}
    return check(EstateFile, replace(document, data=dict(good)))[0] or EstateFile()


def _entries(document: Document, report: list[Problem]) -> list[EntrySource]:
    """Every valid entry: in one go where all are, else one by one so that a bad one hides no other."""
    listed = _keys(document).get("estate")
    model, problems = check(EstateFile, replace(document, data={"estate": listed}))
    if model is not None:
        return [EntrySource(entry, document, ("estate", i)) for i, entry in enumerate(model.estate or ())]
    report.extend(problems)
    paths: list[DocPath] = [("estate", i) for i in range(len(listed) if isinstance(listed, list) else 0)]
    checked = [(check(Entry, document, path)[0] or _salvaged(document, path, listed), path) for path in paths]
    return [EntrySource(entry, document, path) for entry, path in checked if entry is not None]


def _salvaged(document: Document, path: DocPath, listed: Plain) -> Entry | None:
    """A wrong entry without the keys that are wrong, so that the rest of it is checked in the same report.

    Not without those that other checks depend on: a wrong `state` left out would be a running instance.
    """
    written = listed[int(path[1])] if isinstance(listed, list) else None
    if not isinstance(written, dict):
        return None
    needed = {key: value for key, value in written.items() if key in _TELLING}
    others = {key: value for key, value in written.items() if key not in _TELLING}
    if any(key not in Entry.model_fields and closest(key, _TELLING) for key in others):
        return None
    good = {key: value for key, value in others.items() if _entry({**needed, key: value}, document)}
    return _entry({**needed, **good}, document)


def _entry(data: dict[str, Plain], document: Document) -> Entry | None:
    return check(Entry, Document(document.file, data, ""))[0]


def _written_names(document: Document) -> list[str]:
    listed = _keys(document).get("estate")
    entries = [entry for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, dict)]
    return [name for entry in entries if isinstance(name := entry.get("name"), str)]


def _unique(entries: Sequence[EntrySource], report: list[Problem]) -> tuple[EntrySource, ...]:
    first: dict[str, EntrySource] = {}
    for source in entries:
        other = first.setdefault(source.entry.name, source)
        if other is not source:
            message = f"instance {source.entry.name} is there already, at {other.place(('name',))}"
            report.append(source.problem(("name",), RULE, message, "give each instance a name of its own"))
    return tuple(first.values())


def _first(
    usable: Sequence[Document], headers: Sequence[EstateFile], part: Callable[[EstateFile], Any]
) -> tuple[Any, Document | None]:
    for document, header in zip(usable, headers, strict=True):
        if (found := part(header)) is not None:
            return found, document
    return None, None
