"""Opens the state database: private files, durable settings, and a damaged file set aside instead of guessed at."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from controller.errors import EnvironmentFault, NotFound, StoreDamaged
from controller.store.durable import sync_folder
from controller.store.faults import translated
from controller.store.schema import LATEST, migrate, version

MEMORY: Final = ":memory:"
BUSY_S: Final = 5.0
"""Longest wait for another process that is in the middle of a transaction (a reader, or a checkpoint)."""
WAL_BYTES: Final = 4 * 1024 * 1024
"""The write-ahead log is cut back to this after a checkpoint."""
_MAGIC: Final = b"SQLite format 3\0"
_PARTS: Final = ("-wal", "-shm", "")
"""The write-ahead log goes first: left behind, SQLite would play it into the database made next."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A writer's connection; whether the database was made just now, and where a damaged one before it lies."""

    connection: sqlite3.Connection
    is_new: bool
    set_aside: Path | None = None


def open_writer(path: Path | None) -> Opened:
    """Open the file, made where it is missing or damaged; None is a database in memory."""
    if path is None:
        return Opened(_ready(sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False), 0), is_new=True)
    _make_private(path)
    try:
        return _open(path, None)
    except StoreDamaged:
        aside = set_aside(path)
        _make_private(path)
        return _open(path, aside)


def open_reader(path: Path) -> sqlite3.Connection:
    """Open an existing file for reading beside its writer; raises NotFound where there is none."""
    if not path.is_file():
        raise NotFound(f"there is no state database at {path}: Steward has not run with this state folder yet")
    with translated(path):
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=BUSY_S,
        )
        try:
            found = version(connection)
            if found == 0:
                raise NotFound(f"the state database {path} is just being made")
            _require_known(path, found)
        except BaseException:
            connection.close()
            raise
    return connection


def set_aside(path: Path) -> Path:
    """Rename a damaged database with its companions to `<name>.damaged-<n>`, the first free n; nothing is deleted."""
    number = 1
    while any(Path(f"{path}.damaged-{number}{part}").exists() for part in _PARTS):
        number += 1
    aside = Path(f"{path}.damaged-{number}")
    for part in _PARTS:
        source = Path(f"{path}{part}")
        if source.exists():
            source.rename(f"{aside}{part}")
    sync_folder(path.parent)
    return aside


def _make_private(path: Path) -> None:
    """A missing folder is made 0700; the file is 0600 before SQLite writes to it (its companions inherit that)."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        sync_folder(path.parent)
    except OSError as error:
        raise EnvironmentFault(
            f"the state database {path} cannot be opened: {error.strerror}; name another folder with --state"
        ) from error


def _open(path: Path, aside: Path | None) -> Opened:
    _sniff(path)
    with translated(path):
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_S)
        try:
            before = _checked(path, connection)
            return Opened(_ready(connection, before), is_new=before == 0, set_aside=aside)
        except BaseException:
            connection.close()
            raise


def _sniff(path: Path) -> None:
    """Know another kind of file before SQLite opens it, which would drop a write-ahead log that does not fit."""
    with path.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start and start != _MAGIC:
        raise StoreDamaged(f"{path} is not a database")


def _checked(path: Path, connection: sqlite3.Connection) -> int:
    """The version of a database that passes SQLite's own checks; raises StoreDamaged."""
    findings = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
    if findings != ["ok"]:
        raise StoreDamaged(f"{path}: {'; '.join(findings)}")
    if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise StoreDamaged(f"{path}: a row refers to one that is gone")
    found = version(connection)
    if found == 0:
        return 0
    _require_known(path, found)
    return found or 0


def _require_known(path: Path, found: int | None) -> None:
    if not found:
        raise StoreDamaged(f"{path} is not a state database of Steward")
    if found > LATEST:
        raise EnvironmentFault(
            f"the state database {path} is of a newer Steward (schema {found}, this one knows {LATEST}): "
            "run that version again, or move the file away to start without history"
        )


def _ready(connection: sqlite3.Connection, before: int) -> sqlite3.Connection:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
    if before < LATEST:
        migrate(connection, before)
    return connection
