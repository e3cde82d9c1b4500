"""Lanes on threads: a stop that hangs holds up its own instance and one thread, and nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from controller.ports import Finished

TRIGGER: Final = "worker"
"""What the loop is woken with: an ended job is a reason to collect, not by itself one to observe anew."""


class ThreadWorkers:
    """Implements the port Workers. Threads are daemons, so that a hung job cannot keep the process from ending."""

    def __init__(self, limit: int, wake: Callable[[str], None]) -> None:
        """At most `limit` jobs run at once; `wake` is called from the worker's thread when one has ended."""
        self._limit = limit
        self._wake = wake
        self._changed = threading.Condition()
        self._lanes: set[str] = set()
        self._running = 0
        self._finished: list[Finished] = []
        self._closed = False

    def submit(self, lane: str, key: str, job: Callable[[], object]) -> bool:
        """Run the job on its lane; False when the lane is busy, every thread is taken, or the workers are closed."""
        with self._changed:
            if self._closed or lane in self._lanes or self._running >= self._limit:
                return False
            thread = threading.Thread(target=self._run, args=(lane, key, job), name=f"lane {lane}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system has no thread left
                return False
            self._lanes.add(lane)
            self._running += 1
            return True

    def busy(self, lane: str) -> bool:
        """Whether a job of the lane has not been collected yet."""
        with self._changed:
            return lane in self._lanes

    def collect(self) -> tuple[Finished, ...]:
        """What ended since the last call, in the order of ending; this frees the lanes."""
        with self._changed:
            taken, self._finished = tuple(self._finished), []
            self._lanes.difference_update(job.lane for job in taken)
            return taken

    def close(self, timeout_s: float) -> bool:
        """Take no more work and wait for what runs; False when something was still running after `timeout_s` seconds."""
        until = time.monotonic() + timeout_s
        with self._changed:
            self._closed = True
            while self._running:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def _run(self, lane: str, key: str, job: Callable[[], object]) -> None:
        try:
            ended = Finished(lane, key, value=job())
        except BaseException as error:  # noqa: BLE001 - the thread boundary: the loop decides what an error means
            ended = Finished(lane, key, error=error)
        with self._changed:
            self._finished.append(ended)
            self._running -= 1
            self._changed.notify_all()
        self._wake(TRIGGER)
