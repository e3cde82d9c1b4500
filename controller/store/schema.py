"""The tables of the state database and the ordered steps from one version to the next."""

from __future__ import annotations

import sqlite3
from typing import Final

_VERSION_1: Final = (
    """CREATE TABLE intents (
        id INTEGER PRIMARY KEY AUTOINCREMENT, pass_id TEXT NOT NULL, step_id TEXT NOT NULL, action TEXT NOT NULL,
        instance TEXT NOT NULL, cause TEXT NOT NULL, target TEXT NOT NULL, spec_hash TEXT NOT NULL, generation INTEGER,
        began_at REAL NOT NULL, ended_at REAL, result TEXT, message TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX intents_open ON intents (id) WHERE result IS NULL",
    "CREATE TABLE generations (instance TEXT PRIMARY KEY, highest INTEGER NOT NULL)",
    """CREATE TABLE open_creates (
        instance TEXT PRIMARY KEY, spec_hash TEXT NOT NULL, generation INTEGER NOT NULL, intent INTEGER NOT NULL)""",
    "CREATE TABLE last_actions (instance TEXT PRIMARY KEY, action TEXT NOT NULL, cause TEXT NOT NULL, at REAL NOT NULL)",
    """CREATE TABLE failures (
        id INTEGER PRIMARY KEY AUTOINCREMENT, instance TEXT NOT NULL, spec_hash TEXT NOT NULL, container TEXT NOT NULL,
        reason TEXT NOT NULL, message TEXT NOT NULL, fault TEXT NOT NULL, at REAL NOT NULL, log TEXT NOT NULL,
        UNIQUE (instance, spec_hash))""",
    """CREATE TABLE restarts (
        instance TEXT PRIMARY KEY, spec_hash TEXT NOT NULL, count INTEGER NOT NULL, exited_at REAL NOT NULL,
        next_at REAL NOT NULL, reason TEXT NOT NULL)""",
    """CREATE TABLE overrides (
        instance TEXT PRIMARY KEY, verb TEXT NOT NULL, until REAL, reason TEXT NOT NULL, who TEXT NOT NULL,
        at REAL NOT NULL)""",
    """CREATE TABLE ready_marks (
        id INTEGER PRIMARY KEY AUTOINCREMENT, container TEXT NOT NULL UNIQUE, instance TEXT NOT NULL, spec_hash TEXT NOT NULL,
        at REAL NOT NULL, boot_s REAL NOT NULL)""",
    "CREATE INDEX ready_marks_of ON ready_marks (instance, spec_hash)",
    """CREATE TABLE specs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, instance TEXT NOT NULL, spec_hash TEXT NOT NULL, image_id TEXT, serving TEXT,
        fields TEXT, UNIQUE (instance, spec_hash))""",
    "CREATE TABLE bindings (instance TEXT PRIMARY KEY, text TEXT NOT NULL, uuids TEXT NOT NULL)",
    "CREATE TABLE revisions (id INTEGER PRIMARY KEY AUTOINCREMENT, revision TEXT NOT NULL, accepted_at REAL NOT NULL)",
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL)",
    """CREATE TABLE revision_files (
        revision INTEGER NOT NULL REFERENCES revisions (id) ON DELETE CASCADE, position INTEGER NOT NULL, key TEXT NOT NULL,
        path TEXT NOT NULL, digest TEXT NOT NULL REFERENCES blobs (digest), PRIMARY KEY (revision, position))""",
    "CREATE INDEX revision_files_of ON revision_files (digest)",
    """CREATE TABLE events (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT, wall REAL NOT NULL, mono REAL NOT NULL, kind TEXT NOT NULL,
        message TEXT NOT NULL, instance TEXT NOT NULL, cause TEXT NOT NULL, pass_id TEXT NOT NULL, level TEXT NOT NULL)""",
)

_VERSION_2: Final = (
    """CREATE TABLE sightings (
        container TEXT NOT NULL, instance TEXT NOT NULL, overlay TEXT NOT NULL, sentinel TEXT NOT NULL, found INTEGER,
        detail TEXT NOT NULL, PRIMARY KEY (container, overlay))""",
)

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (_VERSION_1, _VERSION_2)
"""The statements that lead to version 1, 2, ...; a released entry never changes."""

LATEST: Final = len(MIGRATIONS)


def version(connection: sqlite3.Connection) -> int | None:
    """The schema version; 0 for a database without any table, None for one that is not Steward's."""
    tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    if "schema_version" not in tables:
        return None
    found = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    return found if isinstance(found, int) else None


def migrate(connection: sqlite3.Connection, before: int) -> None:
    """Bring a database of version `before` to the latest, all or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)")
        for number, statements in enumerate(MIGRATIONS[before:], start=before + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_version VALUES (?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))", (number,))
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
