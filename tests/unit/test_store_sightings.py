"""What the store keeps of looks into containers."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from controller.model.track import Sighting
from controller.settings import Bounds
from controller.store.schema import MIGRATIONS
from controller.store.sqlite import SqliteStore

SEEN = Sighting("c1", "chat", "fix", "# patched", found=True)


def test_a_sighting_comes_back_as_it_was(tmp_path: Path) -> None:
    """Given sightings of every outcome, when the store is opened again, then they are as written, the later one of two."""
    store = SqliteStore(tmp_path / "s.db", Bounds())
    cannot_tell = Sighting("c1", "chat", "other", "x", found=None, detail="the container has no grep")
    for sighting in (replace(SEEN, found=False), SEEN, cannot_tell, Sighting("c2", "chat", "fix", "y", found=False)):
        store.record_sighting(sighting)
    store.close()
    kept = SqliteStore(tmp_path / "s.db", Bounds()).memory().sightings
    assert kept[("c1", "fix")] == SEEN
    assert kept[("c1", "other")] == cannot_tell
    assert kept[("c2", "fix")].found is False


def test_sightings_go_with_their_containers() -> None:
    """Given a container that is no longer remembered as ready, when another one gets ready, then its sightings are gone."""
    store = SqliteStore(":memory:", replace(Bounds(), revisions_kept=1))
    store.mark_ready("c1", "chat", "a" * 64, 1.0, 1.0)
    store.record_sighting(SEEN)
    store.mark_ready("c2", "chat", "b" * 64, 2.0, 1.0)
    store.record_sighting(replace(SEEN, container="c2"))
    assert set(store.memory().sightings) == {("c2", "fix")}
    store.forget(["chat"])
    assert store.memory().sightings == {}


def test_a_store_of_the_first_version_is_brought_up(tmp_path: Path) -> None:
    """Given a database as the first release wrote it, when it is opened, then its records stay and sightings can be kept."""
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)")
        for statement in MIGRATIONS[0]:
            db.execute(statement)
        db.execute("INSERT INTO schema_version VALUES (1, 'then')")
        db.execute("INSERT INTO generations VALUES ('chat', 7)")
    db.close()
    store = SqliteStore(path, Bounds())
    assert store.set_aside is None
    assert store.memory().generations == {"chat": 7}
    store.record_sighting(SEEN)
    assert store.memory().sightings[("c1", "fix")] == SEEN
