"""The files of overlays that need no fetch: those that come with Steward, and those that lie beside a user's record."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from controller.model.document import Document
from controller.model.payload import Payload, PayloadPart, part_of, payload_of
from controller.model.snapshot import Snapshot, SourceFile
from controller.settings import Bounds
from controller.sources.search_path import OVERLAYS, builtin_root
from controller.sources.stable_read import FileBytes, read_stable

if TYPE_CHECKING:
    from controller.model.overlay import Overlay


class _Where(Protocol):
    """The folder that a record lies in."""

    def read(self, path: str) -> bytes | str:
        """A file's bytes, or why there are none."""
        ...

    def below(self, path: str) -> Iterator[str]:
        """The paths of all files below a folder."""
        ...


@dataclass(slots=True)
class OverlayFiles:
    """Looks files up once; `snapshot` is the revision that records of the estate's repository are of."""

    snapshot: Snapshot
    bounds: Bounds
    _known: dict[str, Payload | str] = field(default_factory=dict)

    def payload(self, overlay: Overlay, record: Document) -> Payload | str:
        """The files of an overlay, or what a person must do about one that is missing."""
        if record.file not in self._known:
            self._known[record.file] = self._read(overlay, record)
        return self._known[record.file]

    def _read(self, overlay: Overlay, record: Document) -> Payload | str:
        if overlay.is_builtin:
            return _gathered(_OnDisk(builtin_root() / "profiles" / OVERLAYS, self.bounds), "", self._names(overlay))
        where, folder = self._beside(record), _folder(overlay)
        names = self._names(overlay) if overlay.tree is None else tuple(where.below(folder))
        if len(names) > self.bounds.overlay_files:
            return f"put at most {self.bounds.overlay_files} files into {folder}"
        return _gathered(where, folder, names) if names else f"put its files into the folder {folder} beside {record.file}"

    def _names(self, overlay: Overlay) -> tuple[str, ...]:
        return tuple(file.path for file in overlay.files)

    def _beside(self, record: Document) -> _Where:
        """Where a record lies: in the revision, so that its files are of the same moment, or in a folder of this machine."""
        mine = {file.key: file for file in self.snapshot.of(OVERLAYS)}
        key = next((key for key, file in mine.items() if file.path == record.file), None)
        return _InSnapshot(mine, posixpath.dirname(key)) if key else _OnDisk(Path(record.file).parent, self.bounds)


def _folder(overlay: Overlay) -> str:
    """The folder that the paths of its files begin in."""
    folder = overlay.folder
    return posixpath.join(folder, overlay.tree.path) if overlay.tree and overlay.tree.path else folder


def _gathered(where: _Where, folder: str, names: tuple[str, ...]) -> Payload | str:
    parts: list[PayloadPart] = []
    for name in names:
        path = posixpath.join(folder, name)
        data = where.read(path)
        if isinstance(data, str):
            return data
        parts.append(part_of(name, data))
    return payload_of(parts)


@dataclass(frozen=True, slots=True)
class _InSnapshot:
    files: Mapping[str, SourceFile]
    folder: str

    def read(self, path: str) -> bytes | str:
        found = self.files.get(f"{self.folder}/{path}")
        return found.data if found else f"put the file {path} into {self.folder}/ of the estate's repository"

    def below(self, path: str) -> Iterator[str]:
        top = f"{self.folder}/{path.rstrip('/')}/"
        yield from sorted(key.removeprefix(top) for key in self.files if key.startswith(top))


@dataclass(frozen=True, slots=True)
class _OnDisk:
    folder: Path
    bounds: Bounds

    def read(self, path: str) -> bytes | str:
        found = read_stable(self.folder / path, self.bounds.estate_file)
        if isinstance(found, FileBytes):
            return found.data
        return f"look at the file {self.folder / path}: {found.reason}"

    def below(self, path: str) -> Iterator[str]:
        top = self.folder / path
        found = (item for item in sorted(top.rglob("*")) if item.is_file() and not item.name.startswith("."))
        for count, item in enumerate(found):
            if count > self.bounds.overlay_files:
                return
            yield str(item.relative_to(top))
