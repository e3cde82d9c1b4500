"""The port Store on SQLite: every method is one transaction that is on disk when it returns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import Final, Literal

from controller.errors import StoreDamaged
from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.plan import Step
from controller.model.resolved import GpuBinding, Serving
from controller.model.snapshot import Snapshot
from controller.model.track import Failure, Override, Restarts, Sighting
from controller.settings import Bounds
from controller.store import intents, retention
from controller.store.codec import clean, encode_fields, encode_serving, encode_texts
from controller.store.opening import MEMORY, open_writer, set_aside
from controller.store.reading import SqliteReader

_OF_AN_INSTANCE: Final = (
    "generations",
    "open_creates",
    "last_actions",
    "failures",
    "restarts",
    "overrides",
    "ready_marks",
    "sightings",
    "specs",
    "bindings",
)
"""Tables whose rows go when their instance is forgotten; journal and intents are history and stay."""


class SqliteStore(SqliteReader):
    """The writer's store; the writer lock is taken before it is opened."""

    def __init__(self, path: Path | Literal[":memory:"], bounds: Bounds | None = None) -> None:
        """Open or make the database; one that is damaged is set aside and a new one made."""
        file = None if path == MEMORY else Path(path)
        opened = open_writer(file)
        super().__init__(opened.connection, Path(path))
        self._bounds = bounds or Bounds()
        self._is_new = opened.is_new
        self.set_aside: Path | None = opened.set_aside
        if file is not None and not opened.is_new:
            self._prove(file)

    def _prove(self, file: Path) -> None:
        """Read everything once: damage that SQLite does not see must not wait for the moment when it is needed."""
        try:
            self.memory()
            self.bindings()
            self.accepted()
        except StoreDamaged:
            self.close()
            aside = set_aside(file)
            opened = open_writer(file)
            self._connection, self._is_new, self.set_aside = opened.connection, opened.is_new, aside

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._transaction("BEGIN IMMEDIATE") as db:
            yield db

    def begin(self, step: Step, now: Instant, pass_id: str) -> int:
        """Write the intent of an effect before it happens; its number."""
        with self._writing() as db:
            number = intents.begin(db, step, now, pass_id)
            retention.trim_intents(db, self._bounds)
        return number

    def finish(self, intent: int, now: Instant, result: str, message: str) -> None:
        """Close an intent with `done`, `fault`, `refused`, `unsent` or `unknown`; one that is closed stays as it is."""
        with self._writing() as db:
            intents.finish(db, intent, now, result, clean(message))

    def close_open_intents(self, now: Instant) -> int:
        """At start: whatever was under way is `unknown` now and will be observed; how many there were."""
        with self._writing() as db:
            return intents.close_open(db, now)

    def record_failure(self, failure: Failure) -> None:
        """A boot that failed; an earlier failure of the same spec is replaced."""
        with self._writing() as db:
            db.execute(
                """INSERT OR REPLACE INTO failures (instance, spec_hash, container, reason, message, fault, at, log)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                (
                    failure.instance,
                    failure.spec_hash,
                    failure.container,
                    clean(failure.reason),
                    clean(failure.message),
                    failure.fault.value,
                    failure.at,
                    encode_texts(failure.log),
                ),
            )
            retention.trim_failures(db, failure.instance, self._bounds)

    def clear_failures(self, instance: str) -> None:
        """A person wants it tried again: failures and restarts of the instance are forgotten."""
        with self._writing() as db:
            db.execute("DELETE FROM failures WHERE instance = ?", (instance,))
            db.execute("DELETE FROM restarts WHERE instance = ?", (instance,))

    def record_restart(self, instance: str, restarts: Restarts) -> None:
        """An engine died after it was ready."""
        row = (instance, restarts.spec_hash, restarts.count, restarts.exited_at, restarts.next_at, clean(restarts.reason))
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO restarts VALUES (?, ?, ?, ?, ?, ?)", row)

    def clear_restarts(self, instance: str) -> None:
        """It was ready long enough to count from zero."""
        with self._writing() as db:
            db.execute("DELETE FROM restarts WHERE instance = ?", (instance,))

    def mark_ready(self, container: str, instance: str, spec_hash: str, at: float, boot_s: float) -> None:
        """First readiness of a container; `boot_s` from its start. A later call changes nothing."""
        with self._writing() as db:
            db.execute(
                "INSERT OR IGNORE INTO ready_marks (container, instance, spec_hash, at, boot_s) VALUES (?, ?, ?, ?, ?)",
                (container, instance, spec_hash, at, boot_s),
            )
            retention.trim_ready_marks(db, instance, self._bounds)
            retention.trim_sightings(db, instance)

    def record_sighting(self, sighting: Sighting) -> None:
        """Whether an overlay's sentinel is in a container that has been ready; a later look replaces it."""
        row = (
            *(sighting.container, sighting.instance, sighting.overlay),
            *(clean(sighting.sentinel), sighting.found, clean(sighting.detail)),
        )
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO sightings VALUES (?, ?, ?, ?, ?, ?)", row)

    def pin_image(self, instance: str, spec_hash: str, image_id: str) -> None:
        """The image id of a spec's first create. A later call changes nothing: a moved tag never moves the pin."""
        self._keep_spec(instance, spec_hash, "image_id", image_id, "coalesce(specs.image_id, excluded.image_id)")

    def record_serving(self, instance: str, spec_hash: str, serving: Serving) -> None:
        """How to ask the containers of a spec."""
        self._keep_spec(instance, spec_hash, "serving", encode_serving(serving), "excluded.serving")

    def record_fields(self, instance: str, spec_hash: str, fields: Mapping[str, str]) -> None:
        """The values that a spec was made of, so that a later cause can name the one that changed."""
        self._keep_spec(instance, spec_hash, "fields", encode_fields(fields), "excluded.fields")

    def _keep_spec(self, instance: str, spec_hash: str, column: str, value: str, otherwise: str) -> None:
        with self._writing() as db:
            db.execute(
                f"""INSERT INTO specs (instance, spec_hash, {column}) VALUES (?, ?, ?)
                ON CONFLICT (instance, spec_hash) DO UPDATE SET {column} = {otherwise}""",
                (instance, spec_hash, value),
            )
            retention.trim_specs(db, instance, self._bounds)

    def bind_gpus(self, instance: str, binding: GpuBinding) -> None:
        """Keep the cards of an instance."""
        with self._writing() as db:
            row = (instance, clean(binding.text), encode_texts(binding.uuids))
            db.execute("INSERT OR REPLACE INTO bindings VALUES (?, ?, ?)", row)

    def set_override(self, override: Override) -> None:
        """A person's stop or down."""
        who, reason = clean(override.who), clean(override.reason)
        with self._writing() as db:
            row = (override.instance, override.verb, override.until, reason, who, override.at)
            db.execute("INSERT OR REPLACE INTO overrides VALUES (?, ?, ?, ?, ?, ?)", row)

    def clear_override(self, instance: str) -> None:
        """A person's start, or its expiry."""
        with self._writing() as db:
            db.execute("DELETE FROM overrides WHERE instance = ?", (instance,))

    def accept(self, snapshot: Snapshot, now: Instant) -> None:
        """This revision is in force from now on."""
        with self._writing() as db:
            added = db.execute("INSERT INTO revisions (revision, accepted_at) VALUES (?, ?)", (snapshot.revision, now.wall))
            for position, file in enumerate(snapshot.files):
                digest = hashlib.sha256(file.data).hexdigest()
                db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (digest, file.data))
                row = (added.lastrowid, position, file.key, clean(file.path), digest)
                db.execute("INSERT INTO revision_files VALUES (?, ?, ?, ?, ?)", row)
            retention.trim_revisions(db, self._bounds)

    def append(self, event: Event) -> Event:
        """Add to the journal; the event with its sequence number."""
        texts = (event.kind, event.message, event.instance, event.cause, event.pass_id, event.level)
        with self._writing() as db:
            added = db.execute(
                """INSERT INTO events (wall, mono, kind, message, instance, cause, pass_id, level)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                (event.at.wall, event.at.mono, *map(clean, texts)),
            )
            retention.trim_events(db, self._bounds)
        return replace(event, sequence=added.lastrowid or 0)

    def forget(self, instances: Iterable[str]) -> None:
        """Drop the records of instances that are pruned and no longer desired."""
        with self._writing() as db:
            for instance in instances:
                for table in _OF_AN_INSTANCE:
                    db.execute(f"DELETE FROM {table} WHERE instance = ?", (instance,))

    def is_new(self) -> bool:
        """Whether the database was made by this process (history may have been lost)."""
        return self._is_new
