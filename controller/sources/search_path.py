"""The catalogue's search path: the estate's own repository, then `--profiles`, then what Steward brings along.

A document comes whole from the first place that has it, and only what is asked for is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import controller
from controller.model.document import Document
from controller.model.problem import Place, Problem, Severity
from controller.model.snapshot import Snapshot, SourceFile
from controller.settings import Bounds
from controller.sources.document_cache import DocumentCache
from controller.sources.file_listing import RULE, YAML
from controller.sources.stable_read import Unreadable, read_stable, stamp_of

if TYPE_CHECKING:
    from controller.ports import Catalogue

_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*(?:/[A-Za-z0-9_][A-Za-z0-9._+-]*)*")
_FOR_OTHERS: Final = re.compile(r"(?:^|/)_")
"""In ids of documents that are there for others to extend, and that no list shows."""
OVERLAYS: Final = "overlays"
"""The kind whose documents lie beside the files that they are about, which may well be YAML too."""
_LONGEST: Final = 200
_DEPTH: Final = 4
"""Folders below the one of a kind in which documents are looked for by name."""

_Found = SourceFile | tuple[Problem, ...] | None


class _Where(Protocol):
    """One place of the search path."""

    def read(self, kind: str, identifier: str) -> _Found:
        """The bytes, why they cannot be had, or None."""
        ...

    def ids(self, kind: str) -> Iterator[str]:
        """The ids of a kind that this place has."""
        ...


@dataclass(slots=True)
class SearchPath:
    """Implements ports.Catalogue; what was read once is kept."""

    places: Sequence[_Where]
    bounds: Bounds
    documents: DocumentCache = field(default_factory=DocumentCache)
    _known: dict[tuple[str, str], Document | tuple[Problem, ...] | None] = field(default_factory=dict)

    def find(self, kind: str, identifier: str) -> Document | tuple[Problem, ...] | None:
        """The document; why it cannot be read; or None when no place has it."""
        if len(identifier) > _LONGEST or not _ID.fullmatch(identifier):
            return None
        key = (kind, identifier)
        if key not in self._known:
            self._known[key] = self._read(kind, identifier)
        return self._known[key]

    def ids(self, kind: str) -> tuple[str, ...]:
        """Every known id of a kind, sorted, without the names that begin with `_`."""
        found = {identifier for place in self.places for identifier in place.ids(kind)}
        return tuple(sorted(name for name in found if _ID.fullmatch(name) and not _FOR_OTHERS.search(name)))

    def _read(self, kind: str, identifier: str) -> Document | tuple[Problem, ...] | None:
        for place in self.places:
            found = place.read(kind, identifier)
            if isinstance(found, SourceFile):
                return self.documents.read(found.path, found.data, self.bounds)
            if found is not None:
                return found
        return None


def catalogue_for(snapshot: Snapshot, extra: Path | None, bounds: Bounds, documents: DocumentCache | None = None) -> Catalogue:
    """The catalogue as this snapshot sees it; `extra` is the folder of `--profiles`, `documents` what was parsed before."""
    places: list[_Where] = [_InSnapshot({file.key: file for file in snapshot.files})]
    if extra is not None:
        places.append(_InFolder(extra, bounds, asked_for=True))
    places.append(_InFolder(builtin_root(), bounds))
    return SearchPath(places, bounds, documents or DocumentCache())


def builtin_root() -> Path:
    """The folder that holds Steward's own `profiles/` and `composes/`: in the package, or beside it in a checkout."""
    package = Path(controller.__file__).resolve().parent
    installed = package / "_builtin"
    return installed if installed.is_dir() else package.parent


@dataclass(frozen=True, slots=True)
class _InSnapshot:
    files: dict[str, SourceFile]

    def read(self, kind: str, identifier: str) -> _Found:
        for ending in YAML:
            if file := self.files.get(f"{kind}/{identifier}{ending}"):
                return file
        return None

    def ids(self, kind: str) -> Iterator[str]:
        for key in self.files:
            name = key.removeprefix(f"{kind}/")
            if name != key and key.endswith(YAML) and (kind != OVERLAYS or "/" not in name):
                yield name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class _InFolder:
    """A folder with `profiles/`, `composes/`, `overlays/`; one `asked_for` must exist and may itself be `profiles/`."""

    root: Path
    bounds: Bounds
    asked_for: bool = False

    def read(self, kind: str, identifier: str) -> _Found:
        for folder in self._folders(kind):
            for ending in YAML:
                path = folder / f"{identifier}{ending}"
                found = read_stable(path, self.bounds.estate_file)
                if not isinstance(found, Unreadable):
                    return SourceFile(f"{kind}/{identifier}{ending}", str(path), found.data)
                if not found.gone:
                    return (_problem(f"the document cannot be read: {found.reason}", path),)
        if self.asked_for and stamp_of(self.root) is None:
            return (_problem("there is no such folder, although --profiles names it", self.root),)
        return None

    def ids(self, kind: str) -> Iterator[str]:
        for folder in self._folders(kind):
            yield from _names_below(folder, "", 1 if kind == OVERLAYS else _DEPTH)

    def _folders(self, kind: str) -> tuple[Path, ...]:
        if kind == OVERLAYS:
            return (self.root / kind, self.root / "profiles" / kind)
        top, _, rest = kind.partition("/")
        bare = self.asked_for and top == "profiles" and rest
        return (self.root / kind, self.root / rest) if bare else (self.root / kind,)


def _names_below(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    try:
        entries = sorted((path.name, path.is_dir()) for path in folder.iterdir())
    except OSError:
        return
    for name, is_folder in entries:
        if name.endswith(YAML) and not is_folder:
            yield prefix + name.rpartition(".")[0]
        elif is_folder and depth > 1:
            yield from _names_below(folder / name, f"{prefix}{name}/", depth - 1)


def _problem(message: str, path: Path) -> Problem:
    return Problem(Severity.ERROR, RULE, message, "look at the path", "", Place(str(path), 1, 1))
