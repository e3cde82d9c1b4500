"""Intents: what a crash leaves behind is a question for the next observation, never a second container."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller.model.moment import Instant
from controller.model.plan import Action
from controller.store.sqlite import SqliteStore
from tests.unit.test_store_records import LATER, NOW, create_step, step


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    """A store in memory."""
    opened = SqliteStore(":memory:")
    yield opened
    opened.close()


def test_unseen_create_keeps_its_generation(store: SqliteStore) -> None:
    """Until its container was seen, a create is open under the generation that its name carries, whatever the answer was."""
    number = store.begin(create_step(generation=4), NOW, "p1")
    assert store.memory().open_creates == {("chat", "aaaa"): 4}
    store.finish(number, NOW, "done", "created")
    assert store.memory().open_creates == {("chat", "aaaa"): 4}
    assert store.memory().generations == {"chat": 4}


def test_lost_answer_keeps_the_create_open(store: SqliteStore) -> None:
    """An unknown outcome is retried under the same generation."""
    store.finish(store.begin(create_step(generation=4), NOW, "p1"), NOW, "unknown", "timed out")
    assert store.memory().open_creates == {("chat", "aaaa"): 4}
    store.finish(store.begin(create_step(generation=4), NOW, "p2"), NOW, "done", "created")
    assert store.memory().open_creates == {("chat", "aaaa"): 4}


@pytest.mark.parametrize("result", ["fault", "refused", "unsent"])
def test_answered_create_is_closed(store: SqliteStore, result: str) -> None:
    """A create that was refused, or never sent, made nothing."""
    store.finish(store.begin(create_step(), NOW, "p1"), NOW, result, "")
    assert store.memory().open_creates == {}
    assert store.memory().generations == {"chat": 1}


@pytest.mark.parametrize("result", ["fault", "refused", "unsent"])
def test_answer_to_a_retry_tells_nothing_of_the_first_attempt(store: SqliteStore, result: str) -> None:
    """The first attempt may have made its container although the second one was refused."""
    store.finish(store.begin(create_step(generation=4), NOW, "p1"), NOW, "unknown", "timed out")
    store.finish(store.begin(create_step(generation=4), NOW, "p2"), NOW, result, "")
    assert store.memory().open_creates == {("chat", "aaaa"): 4}


@pytest.mark.parametrize("result", ["done", "unknown"])
def test_observed_container_settles_its_create(store: SqliteStore, result: str) -> None:
    """Whoever starts a container of the spec has seen it, so its create is in doubt no more."""
    store.finish(store.begin(create_step(generation=4), NOW, "p1"), NOW, result, "")
    store.begin(step(Action.START, target="c9"), NOW, "p2")
    assert store.memory().open_creates == {}


def test_next_spec_replaces_the_open_create(store: SqliteStore) -> None:
    """After an edit the old question is void, and going back to the old spec takes a new generation."""
    store.finish(store.begin(create_step(spec_hash="aaaa", generation=4), NOW, "p1"), NOW, "unknown", "")
    store.begin(create_step(spec_hash="bbbb", generation=5), NOW, "p2")
    assert store.memory().open_creates == {("chat", "bbbb"): 5}
    assert store.memory().generations == {"chat": 5}


def test_instances_do_not_mix(store: SqliteStore) -> None:
    """Two instances of the same spec hash each have their own open create."""
    first = store.begin(create_step("chat", generation=2), NOW, "p1")
    store.begin(create_step("embed", generation=7), NOW, "p1")
    store.finish(first, NOW, "refused", "")
    assert store.memory().open_creates == {("embed", "aaaa"): 7}


def test_highest_generation_never_falls(store: SqliteStore) -> None:
    """A retry under an older generation does not lower the highest one."""
    store.begin(create_step(generation=9), NOW, "p1")
    store.begin(create_step(generation=3), NOW, "p2")
    assert store.memory().generations == {"chat": 9}


def test_start_closes_what_a_dead_process_left(store: SqliteStore) -> None:
    """Everything under way is unknown at the next start, once; a closed intent stays as it was."""
    done = store.begin(step(Action.STOP), NOW, "p1")
    store.finish(done, NOW, "done", "")
    store.begin(step(Action.START), NOW, "p1")
    store.begin(create_step("embed"), NOW, "p1")
    assert store.close_open_intents(LATER) == 2
    assert store.close_open_intents(LATER) == 0
    assert store.memory().open_creates == {("embed", "aaaa"): 1}


def test_last_actions_are_the_finished_ones(store: SqliteStore) -> None:
    """Per instance the latest action that ended, with its cause; what was never sent was no action."""
    store.finish(store.begin(step(Action.STOP), NOW, "p1"), Instant(10.0, 1.0), "done", "")
    store.finish(store.begin(step(Action.START), NOW, "p1"), Instant(20.0, 2.0), "fault", "")
    store.finish(store.begin(step(Action.REMOVE), NOW, "p1"), Instant(30.0, 3.0), "unsent", "")
    store.begin(step(Action.RENAME), NOW, "p1")
    store.finish(store.begin(step(Action.PULL, instance=""), NOW, "p1"), NOW, "done", "")
    assert store.last_actions() == {"chat": ("start", "port: 8010 -> 8011", 20.0)}


def test_second_finish_changes_nothing(store: SqliteStore) -> None:
    """An answer that comes after the intent was closed as unknown does not rewrite history."""
    number = store.begin(create_step(generation=4), NOW, "p1")
    store.close_open_intents(NOW)
    store.finish(number, LATER, "done", "late")
    assert store.memory().open_creates == {("chat", "aaaa"): 4}
