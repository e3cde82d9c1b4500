"""What the port ContainerEvents promises, on every kind of engine."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from controller.simulation.engine.script import Script
from tests.contract.rigs import Rig
from tests.docker_fixtures import eventually


@contextmanager
def followed(rig: Rig) -> Iterator[list[str]]:
    """The wake-ups while the block runs, from a thread that follows again whenever the stream ends."""
    woken: list[str] = []
    stop = threading.Event()

    def follow() -> None:
        while not stop.is_set():
            rig.engine.follow(woken.append, stop.is_set)
            stop.wait(0.02)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    probe, knocks = rig.create("knock"), itertools.count()

    def knock() -> list[str]:
        """A stream that is not open yet tells nothing, so somebody makes noise until it does."""
        rig.hand.rename(probe, f"knock-{uuid.uuid4().hex[:8]}-{next(knocks)}")
        stop.wait(0.1)
        return woken

    eventually(knock)
    woken.clear()
    try:
        yield woken
    finally:
        stop.set()
        rig.create("last")  # lets a reading stream see that it is over
        thread.join(timeout=30)
        assert not thread.is_alive()


def test_what_happens_to_containers_wakes(rig: Rig) -> None:
    """Create, start and die arrive in this order."""
    with followed(rig) as woken:
        made = rig.started()
        rig.hand.kill(made)
        eventually(lambda: "docker-die" in woken)
    order = [word for word in woken if word in ("docker-create", "docker-start", "docker-die")]
    assert order[:3] == ["docker-create", "docker-start", "docker-die"]


def test_a_kill_by_hand_leaves_evidence(rig: Rig) -> None:
    """`docker kill` is told from an exit of its own."""
    began = rig.now()
    made = rig.started()
    rig.hand.kill(made)
    signal = rig.engine.hand_signal(made, began - 1, rig.now() + 1)
    assert signal is not None
    assert (signal.container, signal.action) == (made, "kill")
    assert abs(signal.at - rig.now()) < 30


def test_a_stop_by_hand_leaves_evidence(rig: Rig) -> None:
    """`docker stop` is told from `docker kill`."""
    began = rig.now()
    made = rig.started()
    rig.hand.stop(made)
    signal = rig.engine.hand_signal(made, began - 1, rig.now() + 1)
    assert signal is not None
    assert signal.action == "stop"


def test_an_exit_of_its_own_leaves_none(rig: Rig) -> None:
    """Nobody is blamed for a crash."""
    began = rig.now()
    made = rig.started(script=Script(exits_s=0.1, exit_code=137))
    rig.wait(lambda: not rig.must_see(made).running)
    assert rig.engine.hand_signal(made, began - 1, rig.now() + 1) is None


def test_only_the_latest_end_counts(rig: Rig) -> None:
    """A container that was stopped by hand, started again and then crashed is not counted as stopped by hand."""
    began = rig.now()
    made = rig.started(script=Script(exits_s=1.0, exit_code=1))
    rig.hand.stop(made)
    rig.engine.start(made)
    rig.wait(lambda: not rig.must_see(made).running)
    assert rig.engine.hand_signal(made, began - 1, rig.now() + 1) is None


def test_evidence_outside_the_span_is_not_found(rig: Rig) -> None:
    """The question is about one end, not about the container's whole life."""
    made = rig.started()
    rig.hand.kill(made)
    at = rig.now()
    assert rig.engine.hand_signal(made, at - 2000, at - 1000) is None


def test_evidence_about_another_container_is_not_found(rig: Rig) -> None:
    """Neighbours do not share blame."""
    began = rig.now()
    one, two = rig.started("one"), rig.started("two")
    rig.hand.kill(one)
    assert rig.engine.hand_signal(two, began - 1, rig.now() + 1) is None
