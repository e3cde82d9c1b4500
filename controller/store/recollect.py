"""The rows that make up the planner's Memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from controller.model.resolved import Serving
from controller.model.track import Failure, FaultClass, Memory, Override, Restarts, Sighting
from controller.store.codec import decode_fields, decode_serving, decode_texts


def memory(db: sqlite3.Connection) -> Memory:
    """Everything that is kept of the past."""
    return Memory(
        failures=_failures(db),
        restarts=_restarts(db),
        overrides=_overrides(db),
        generations=dict(db.execute("SELECT instance, highest FROM generations ORDER BY instance")),
        open_creates=_open_creates(db),
        image_pins=_image_pins(db),
        ready_marks=dict(db.execute("SELECT container, at FROM ready_marks ORDER BY id")),
        servings=servings(db),
        fields=_fields(db),
        stops=_stops(db),
        sightings=_sightings(db),
    )


def _stops(db: sqlite3.Connection) -> frozenset[str]:
    """Containers whose latest stop or start was our stop; a start that did not come to pass does not count."""
    rows = db.execute(
        """SELECT target, action, max(id) FROM intents
        WHERE (action = 'stop' AND result IS NOT 'unsent')
        OR (action = 'start' AND (result IS NULL OR result IN ('done', 'unknown')))
        GROUP BY target"""
    )
    return frozenset(target for target, action, _ in rows if action == "stop")


def _sightings(db: sqlite3.Connection) -> dict[tuple[str, str], Sighting]:
    rows = db.execute("SELECT container, instance, overlay, sentinel, found, detail FROM sightings ORDER BY container, overlay")
    return {
        (container, overlay): Sighting(container, instance, overlay, sentinel, None if found is None else bool(found), detail)
        for container, instance, overlay, sentinel, found, detail in rows
    }


def servings(db: sqlite3.Connection) -> dict[tuple[str, str], Serving]:
    """How to ask each spec."""
    rows = db.execute("SELECT instance, spec_hash, serving FROM specs WHERE serving IS NOT NULL ORDER BY id")
    return {(instance, spec_hash): decode_serving(serving) for instance, spec_hash, serving in rows}


def _fields(db: sqlite3.Connection) -> dict[tuple[str, str], Mapping[str, str]]:
    rows = db.execute("SELECT instance, spec_hash, fields FROM specs WHERE fields IS NOT NULL ORDER BY id")
    return {(instance, spec_hash): decode_fields(fields) for instance, spec_hash, fields in rows}


def _image_pins(db: sqlite3.Connection) -> dict[tuple[str, str], str]:
    rows = db.execute("SELECT instance, spec_hash, image_id FROM specs WHERE image_id IS NOT NULL ORDER BY id")
    return {(instance, spec_hash): image_id for instance, spec_hash, image_id in rows}


def _open_creates(db: sqlite3.Connection) -> dict[tuple[str, str], int]:
    rows = db.execute("SELECT instance, spec_hash, generation FROM open_creates ORDER BY instance")
    return {(instance, spec_hash): generation for instance, spec_hash, generation in rows}


def _failures(db: sqlite3.Connection) -> dict[tuple[str, str], Failure]:
    rows = db.execute("SELECT instance, spec_hash, container, reason, message, fault, at, log FROM failures ORDER BY id")
    return {
        (instance, spec_hash): Failure(
            instance, spec_hash, container, reason, message, FaultClass(fault), at, decode_texts(log)
        )
        for instance, spec_hash, container, reason, message, fault, at, log in rows
    }


def _restarts(db: sqlite3.Connection) -> dict[str, Restarts]:
    rows = db.execute("SELECT instance, spec_hash, count, exited_at, next_at, reason FROM restarts ORDER BY instance")
    return {row[0]: Restarts(*row[1:]) for row in rows}


def _overrides(db: sqlite3.Connection) -> dict[str, Override]:
    rows = db.execute("SELECT instance, verb, until, reason, who, at FROM overrides ORDER BY instance")
    return {row[0]: Override(*row) for row in rows}
