"""`steward run` is killed at random moments: the next one converges and no instance ever has two running containers."""

from __future__ import annotations

import random
import threading
import time

import pytest

from tests.docker.harness import Entry, Steward, free_port

pytestmark = pytest.mark.docker
KILLS = 20
LONGEST_S = 3.0
"""A boot and a replace of these engines take about this long, so that the kills fall all over them."""


class Watch:
    """Looks at the engine all the time and keeps the instances that had two running containers at once."""

    def __init__(self, steward: Steward) -> None:
        self._steward, self._stop = steward, threading.Event()
        self.doubled: set[str] = set()
        self.looks = 0
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _look(self) -> None:
        api = self._steward.engine.api
        while not self._stop.is_set():
            seen = api.containers(filters={"label": f"steward.rig={self._steward.rig}", "status": "running"})
            names = [container["Labels"]["steward.instance"] for container in seen]
            self.doubled |= {name for name in names if names.count(name) > 1}
            self.looks += 1


@pytest.mark.timeout(600)
def test_killed_at_twenty_moments_of_boot_and_replace(steward: Steward) -> None:
    """Given edits that replace an engine, when the controller is killed at random moments of them, then the rig converges."""
    chance = random.Random(4711)
    chat, embed = free_port(), free_port()
    steward.write(Entry("chat", chat, args=("--sim-load-s", "0.3")), Entry("embed", embed))
    with Watch(steward) as watch:
        for number in range(KILLS):
            tps = str(50 + number)
            steward.write(Entry("chat", chat, args=("--sim-load-s", "0.3", "--sim-tps", tps)), Entry("embed", embed))
            steward.start()
            time.sleep(chance.uniform(0.0, LONGEST_S))
            steward.kill()
        steward.start()
        steward.converged()
    assert watch.looks > KILLS
    assert watch.doubled == set()
    running = steward.containers(running=True)
    assert sorted(c.labels["steward.instance"] for c in running) == ["chat", "embed"]
    assert str(50 + KILLS - 1) in steward.only("chat").attrs["Args"]
    assert len(steward.containers("chat")) <= 2
