"""The files of overlays in the state folder: one folder for each content, written once and never changed.

A container that is kept mounts them, so that it can start again whatever becomes of the place they came from.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from controller.errors import EnvironmentFault, SpecFault
from controller.model.payload import Payload, PayloadPart
from controller.model.reading import Known, Reading, Unknown
from controller.store.durable import sync_folder

_KEY: Final = re.compile(r"[0-9a-f]{64}")
_UNFINISHED: Final = ".unfinished-"
_FOLDER_MODE: Final = 0o555
_FILE_MODE: Final = 0o444
"""Any user of any container may read them, and nobody writes them."""


class FilePayloads:
    """Implements ports.Payloads below one folder."""

    def __init__(self, root: Path) -> None:
        """Nothing is made before the first write; the engine mounts from here, so the path has to be one of its host."""
        self._root = root.absolute()

    @property
    def folder(self) -> str:
        """Where they lie."""
        return str(self._root)

    def has(self, key: str) -> Reading[bool]:
        """Whether the payload of a key is there."""
        try:
            (self._root / key).stat()
        except FileNotFoundError:
            return Known(False)
        except OSError as error:
            return Unknown(f"{self._root} cannot be read: {(error.strerror or str(error)).lower()}")
        return Known(True)

    def put(self, payload: Payload) -> None:
        """Write a payload whose bytes are at hand; one that is there stays as it is. Raises EnvironmentFault."""
        if not payload.at_hand:
            raise SpecFault(f"payload {payload.key[:12]} is not at hand")
        self.write(payload.key, {part.path: part.data or b"" for part in payload.parts})

    def write(self, key: str, files: Mapping[str, bytes]) -> None:
        """Write files under a key, all or nothing; what is there stays as it is. Raises EnvironmentFault."""
        if not _KEY.fullmatch(key):
            raise SpecFault(f"{key!r} is no key of a payload")
        if self.has(key) == Known(True):
            return
        try:
            self._root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # the state folder is nobody else's
            self._root.mkdir(mode=0o755, exist_ok=True)
            self._write(self._root / key, files)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise EnvironmentFault(f"the files of an overlay cannot be written to {self._root}: {reason}") from error

    def faults(self, key: str, parts: Iterable[PayloadPart]) -> tuple[str, ...]:
        """What is wrong with a payload that is there: files that are missing or not the ones that were written."""
        return tuple(fault for part in parts if (fault := _fault(self._root / key / part.path, part.sha256)))

    def _write(self, target: Path, files: Mapping[str, bytes]) -> None:
        fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self._root))
        try:
            for path, data in files.items():
                _write_file(fresh / path, data)
            _seal(fresh)
            _move(fresh, target)
            sync_folder(self._root)
        finally:
            if fresh.exists():
                _discard(fresh)


def _move(fresh: Path, target: Path) -> None:
    """Give it its name; that another process was faster is fine, for it wrote the same bytes."""
    try:
        fresh.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _write_file(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(_FILE_MODE)


def _seal(folder: Path) -> None:
    """Take the right to write from a folder and all below it, innermost first, and put their names on disk."""
    for inner, _, _ in os.walk(folder, topdown=False):
        sync_folder(Path(inner))
        Path(inner).chmod(_FOLDER_MODE)


def _discard(folder: Path) -> None:
    for inner, _, _ in os.walk(folder):
        Path(inner).chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)


def _fault(path: Path, sha256: str) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        return f"{path} cannot be read: {(error.strerror or str(error)).lower()}"
    return "" if hashlib.sha256(data).hexdigest() == sha256 else f"{path} was changed after it was written"
