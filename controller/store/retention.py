"""What the state database may forget, so that it stays small however long a rig runs."""

from __future__ import annotations

import sqlite3

from controller.settings import Bounds


def trim_events(db: sqlite3.Connection, bounds: Bounds) -> None:
    """Keep the newest journal lines."""
    db.execute("DELETE FROM events WHERE sequence <= (SELECT max(sequence) FROM events) - ?", (bounds.journal_rows,))


def trim_intents(db: sqlite3.Connection, bounds: Bounds) -> None:
    """Keep the newest intents and every open one."""
    db.execute(
        "DELETE FROM intents WHERE result IS NOT NULL AND id <= (SELECT max(id) FROM intents) - ?", (bounds.journal_rows,)
    )


def trim_revisions(db: sqlite3.Connection, bounds: Bounds) -> None:
    """Keep the newest revisions, the one in force among them, and the bytes that they share."""
    db.execute(
        "DELETE FROM revisions WHERE id NOT IN (SELECT id FROM revisions ORDER BY id DESC LIMIT ?)",
        (max(1, bounds.revisions_kept),),
    )
    db.execute("DELETE FROM blobs WHERE digest NOT IN (SELECT digest FROM revision_files)")


def trim_specs(db: sqlite3.Connection, instance: str, bounds: Bounds) -> None:
    """Keep an instance's newest specs, and older ones whose container was ready: it may still run."""
    db.execute(
        """DELETE FROM specs WHERE instance = :instance
        AND id NOT IN (SELECT id FROM specs WHERE instance = :instance ORDER BY id DESC LIMIT :kept)
        AND spec_hash NOT IN (SELECT spec_hash FROM ready_marks WHERE instance = :instance)""",
        {"instance": instance, "kept": bounds.revisions_kept},
    )


def trim_ready_marks(db: sqlite3.Connection, instance: str, bounds: Bounds) -> None:
    """Keep the marks of an instance's newest containers."""
    db.execute(
        """DELETE FROM ready_marks WHERE instance = :instance
        AND id NOT IN (SELECT id FROM ready_marks WHERE instance = :instance ORDER BY id DESC LIMIT :kept)""",
        {"instance": instance, "kept": bounds.revisions_kept},
    )


def trim_sightings(db: sqlite3.Connection, instance: str) -> None:
    """Keep what was seen in containers that are remembered as ready."""
    db.execute(
        """DELETE FROM sightings WHERE instance = :instance
        AND container NOT IN (SELECT container FROM ready_marks WHERE instance = :instance)""",
        {"instance": instance},
    )


def trim_failures(db: sqlite3.Connection, instance: str, bounds: Bounds) -> None:
    """Keep the log lines of an instance's newest failures. The failures themselves stay, for a spec that failed is not
    started again by itself; only far beyond what a person can cause do the oldest go.
    """
    db.execute(
        """UPDATE failures SET log = '[]' WHERE instance = :instance AND log <> '[]'
        AND id NOT IN (SELECT id FROM failures WHERE instance = :instance ORDER BY id DESC LIMIT :kept)""",
        {"instance": instance, "kept": bounds.revisions_kept},
    )
    db.execute("DELETE FROM failures WHERE id <= (SELECT max(id) FROM failures) - ?", (bounds.journal_rows,))
