"""SQLite's errors in Steward's words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.errors import EnvironmentFault, OutOfSpace, StewardError, StoreDamaged

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into OutOfSpace, StoreDamaged or another EnvironmentFault that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise fault_of(error, path) from error


@contextmanager
def decoding(what: str, path: Path) -> Iterator[None]:
    """A row that does not hold what was written into it means damage, also where SQLite sees none."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(f"{path}: the {what} cannot be read back: {error}") from error


def fault_of(error: sqlite3.Error, path: Path) -> StewardError:
    """The error in Steward's words."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        return StoreDamaged(f"{path}: {error}")
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _disk_is_full(path)):
        return OutOfSpace(f"no space left for the state database {path}; free some and it goes on by itself")
    if code in _BUSY:
        return EnvironmentFault(f"the state database {path} is held by another process: {error}")
    return EnvironmentFault(f"the state database {path} cannot be used: {error}")


def _disk_is_full(path: Path) -> bool:
    """Whether a failed read or write of SQLite's helper files is for want of space (it reports those as I/O errors)."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < 65536
