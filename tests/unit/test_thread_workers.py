"""Lanes on real threads: one job a lane, a bounded number of threads, and no error that gets lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from controller.adapters.thread_workers import TRIGGER, ThreadWorkers
from controller.ports import Finished


class Bell:
    """Counts the wake-ups and lets a test wait for them."""

    def __init__(self) -> None:
        """Silent so far."""
        self.heard: list[str] = []
        self._rung = threading.Condition()

    def ring(self, trigger: str) -> None:
        """One wake-up."""
        with self._rung:
            self.heard.append(trigger)
            self._rung.notify_all()

    def wait(self, count: int) -> None:
        """Until so many wake-ups were heard."""
        with self._rung:
            assert self._rung.wait_for(lambda: len(self.heard) >= count, 10)


@pytest.fixture
def bell() -> Bell:
    """A bell."""
    return Bell()


@pytest.fixture
def workers(bell: Bell) -> Iterator[ThreadWorkers]:
    """Two threads; whatever a test leaves running must end by itself."""
    pool = ThreadWorkers(2, bell.ring)
    yield pool
    assert pool.close(10)


def test_value_comes_back_with_its_lane_and_key(workers: ThreadWorkers, bell: Bell) -> None:
    """The loop is woken when a job ends and collects it once."""
    assert workers.submit("instance/chat", "7", lambda: 40 + 2)
    bell.wait(1)
    assert workers.collect() == (Finished("instance/chat", "7", 42),)
    assert workers.collect() == ()
    assert bell.heard == [TRIGGER]


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3), KeyboardInterrupt(), RecursionError()])
def test_error_is_a_result(workers: ThreadWorkers, bell: Bell, error: BaseException) -> None:
    """Whatever a job raises reaches the loop; the thread's end is never the program's."""

    def fail() -> object:
        raise error

    assert workers.submit("lane", "1", fail)
    bell.wait(1)
    assert workers.collect() == (Finished("lane", "1", None, error),)


def test_lane_is_busy_until_collected(workers: ThreadWorkers, bell: Bell) -> None:
    """A result that the loop has not seen yet keeps the lane, so that no two effects of an instance overlap."""
    assert not workers.busy("lane")
    assert workers.submit("lane", "1", lambda: None)
    assert workers.busy("lane")
    bell.wait(1)
    assert workers.busy("lane")
    assert not workers.submit("lane", "2", lambda: None)
    workers.collect()
    assert not workers.busy("lane")
    assert workers.submit("lane", "3", lambda: None)
    bell.wait(2)
    assert [job.key for job in workers.collect()] == ["3"]


def test_stuck_job_blocks_its_lane_and_one_thread(workers: ThreadWorkers, bell: Bell) -> None:
    """While one stop hangs, the other instances go on."""
    stuck = threading.Event()
    assert workers.submit("stuck", "1", lambda: stuck.wait(30))
    for number in range(5):
        assert workers.submit(f"lane-{number}", str(number), lambda: None)
        bell.wait(number + 1)
    assert [job.key for job in workers.collect()] == ["0", "1", "2", "3", "4"]
    assert workers.busy("stuck")
    assert not workers.submit("stuck", "2", lambda: None)
    stuck.set()
    bell.wait(6)


def test_no_more_jobs_than_threads(workers: ThreadWorkers, bell: Bell) -> None:
    """A full house refuses instead of queueing; the loop tries again later."""
    gate = threading.Event()
    assert workers.submit("a", "1", lambda: gate.wait(30))
    assert workers.submit("b", "2", lambda: gate.wait(30))
    assert not workers.submit("c", "3", lambda: None)
    assert not workers.busy("c")
    gate.set()
    bell.wait(2)
    assert workers.submit("c", "3", lambda: None)
    bell.wait(3)


def test_close_waits_for_what_runs_and_takes_no_more(bell: Bell) -> None:
    """`run` gives actions in flight their bounded time."""
    pool = ThreadWorkers(2, bell.ring)
    gate = threading.Event()
    assert pool.submit("a", "1", lambda: gate.wait(30))
    assert not pool.close(0.01)
    assert not pool.submit("b", "2", lambda: None)
    gate.set()
    assert pool.close(10)
    bell.wait(1)
    assert [job.value for job in pool.collect()] == [True]


def test_threads_cannot_keep_the_process_alive(workers: ThreadWorkers, bell: Bell) -> None:
    """Workers are daemons: a hung job never holds up the end of the program."""
    assert workers.submit("lane", "1", lambda: threading.current_thread().daemon)
    bell.wait(1)
    assert workers.collect()[0].value is True
