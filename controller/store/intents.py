"""Intents: an effect is written down before it happens, so that a crash leaves a question and never a surprise.

What later decisions need of them is kept in tables of its own, which trimming the intents does not touch: the highest
generation and the last action of an instance, and the create whose container was not seen yet. That one is retried under the
same generation, hence the same container name, so that neither a lost answer nor a list that lags behind makes a second one.
"""

from __future__ import annotations

from sqlite3 import Connection
from typing import Final

from controller.model.moment import Instant
from controller.model.plan import Action, Step
from controller.store.codec import clean

DONE: Final = "done"
UNKNOWN: Final = "unknown"
UNSENT: Final = "unsent"
"""The effect was not even begun."""


def begin(db: Connection, step: Step, now: Instant, pass_id: str) -> int:
    """Write the intent; its number."""
    generation = step.create.identity.generation if step.create else None
    added = db.execute(
        """INSERT INTO intents (pass_id, step_id, action, instance, cause, target, spec_hash, generation, began_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            pass_id,
            clean(step.id),
            step.action.value,
            step.instance,
            clean(str(step.cause)),
            clean(step.target),
            _spec_hash(step),
            generation,
            now.wall,
        ),
    )
    number = added.lastrowid or 0
    if step.action is Action.CREATE and generation is not None:
        _open_create(db, step, generation, number)
    elif step.action is Action.START and step.target:
        _close_create(db, step.instance, step.spec_hash)
    return number


def finish(db: Connection, intent: int, now: Instant, result: str, message: str) -> None:
    """Close an open intent."""
    closed = db.execute(
        "UPDATE intents SET ended_at = ?, result = ?, message = ? WHERE id = ? AND result IS NULL",
        (now.wall, result, message, intent),
    )
    if closed.rowcount == 0:
        return
    if result != UNSENT:
        db.execute(
            """INSERT OR REPLACE INTO last_actions
            SELECT instance, action, cause, ended_at FROM intents WHERE id = ? AND instance <> ''""",
            (intent,),
        )
    _answer_create(db, intent, result)


def _answer_create(db: Connection, intent: int, result: str) -> None:
    """A refusal closes its own create only: it tells nothing about an earlier attempt whose container was not seen yet."""
    if result not in (DONE, UNKNOWN):
        db.execute("DELETE FROM open_creates WHERE intent = ?", (intent,))


def close_open(db: Connection, now: Instant) -> int:
    """Close what a process that ended left open; how many there were."""
    message = "Steward ended while this was under way"
    left = db.execute(
        "UPDATE intents SET ended_at = ?, result = ?, message = ? WHERE result IS NULL", (now.wall, UNKNOWN, message)
    )
    return left.rowcount


def _open_create(db: Connection, step: Step, generation: int, intent: int) -> None:
    """Remember the create; a retry of the one that is open keeps its first intent, another one replaces it."""
    db.execute(
        """INSERT INTO generations VALUES (:instance, :generation)
        ON CONFLICT (instance) DO UPDATE SET highest = max(highest, excluded.highest)""",
        {"instance": step.instance, "generation": generation},
    )
    db.execute(
        """INSERT INTO open_creates VALUES (?, ?, ?, ?) ON CONFLICT (instance) DO UPDATE SET
        intent = CASE WHEN (spec_hash, generation) = (excluded.spec_hash, excluded.generation) THEN intent
        ELSE excluded.intent END, spec_hash = excluded.spec_hash, generation = excluded.generation""",
        (step.instance, _spec_hash(step), generation, intent),
    )


def _close_create(db: Connection, instance: str, spec_hash: str) -> None:
    """A container of the spec was observed: its create is not in doubt any more."""
    db.execute("DELETE FROM open_creates WHERE instance = ? AND spec_hash = ?", (instance, spec_hash))


def _spec_hash(step: Step) -> str:
    return step.create.identity.spec_hash if step.create else step.spec_hash
