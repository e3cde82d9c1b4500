"""What the state database says: by its writer, or by another process beside it (`events` without a running Steward)."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.resolved import GpuBinding, Serving
from controller.model.snapshot import Snapshot, SourceFile
from controller.model.track import Memory
from controller.store import recollect
from controller.store.codec import decode_texts
from controller.store.faults import decoding, translated
from controller.store.opening import open_reader

_EVENT_COLUMNS = "wall, mono, kind, message, instance, cause, pass_id, level, sequence"


class SqliteReader:
    """The reading half of the port Store. Each method sees one state of the database; any thread may call it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Take over an open connection; `path` is for messages."""
        self._connection = connection
        self._path = path
        self._turn = threading.RLock()

    @staticmethod
    def open_readonly(path: Path) -> SqliteReader:
        """Beside a running writer or without one; raises NotFound where there is no database, and never writes."""
        return SqliteReader(open_reader(path), path)

    def memory(self) -> Memory:
        """The planner's past, without the parts that live only in the process."""
        with self._reading() as db, decoding("records", self._path):
            return recollect.memory(db)

    def servings(self) -> Mapping[tuple[str, str], Serving]:
        """How to ask the containers of each spec, by (instance, spec hash)."""
        with self._reading() as db, decoding("servings", self._path):
            return recollect.servings(db)

    def bindings(self) -> Mapping[str, GpuBinding]:
        """The kept cards by instance."""
        with self._reading() as db, decoding("bindings", self._path):
            rows = db.execute("SELECT instance, text, uuids FROM bindings ORDER BY instance")
            return {instance: GpuBinding(text, decode_texts(uuids)) for instance, text, uuids in rows}

    def accepted(self) -> Snapshot | None:
        """The revision in force, with its bytes; raises StoreDamaged when they are not the ones that were accepted."""
        with self._reading() as db, decoding("accepted revision", self._path):
            newest = db.execute("SELECT id, revision FROM revisions ORDER BY id DESC LIMIT 1").fetchone()
            if newest is None:
                return None
            rows = db.execute(
                """SELECT key, path, digest, data FROM revision_files JOIN blobs USING (digest)
                WHERE revision = ? ORDER BY position""",
                (newest[0],),
            )
            return Snapshot(tuple(_source_file(*row) for row in rows), newest[1])

    def events(self, after: int, limit: int) -> tuple[Event, ...]:
        """Journal lines after a sequence number, oldest first; `after` -1 means the last `limit`."""
        if limit <= 0:
            return ()
        newest_first = after < 0
        order = "DESC" if newest_first else "ASC"
        with self._reading() as db:
            rows = db.execute(
                f"SELECT {_EVENT_COLUMNS} FROM events WHERE sequence > ? ORDER BY sequence {order} LIMIT ?", (after, limit)
            ).fetchall()
        return tuple(Event(Instant(row[0], row[1]), *row[2:]) for row in (reversed(rows) if newest_first else rows))

    def last_actions(self) -> Mapping[str, tuple[str, str, float]]:
        """Per instance the latest finished action, its cause and its Unix time."""
        with self._reading() as db:
            rows = db.execute("SELECT instance, action, cause, at FROM last_actions ORDER BY instance")
            return {instance: (action, cause, at) for instance, action, cause, at in rows}

    def close(self) -> None:
        """Flush and close."""
        with self._turn, translated(self._path):
            self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One read transaction, so that several statements see the same state."""
        with self._transaction("BEGIN") as db:
            yield db

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        db = self._connection
        with self._turn, translated(self._path):
            db.execute(begin)
            try:
                yield db
                db.commit()
            except BaseException:
                db.rollback()
                raise


def _source_file(key: str, path: str, digest: str, data: bytes) -> SourceFile:
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"the bytes of {path} are not the accepted ones")
    return SourceFile(key, path, data)
