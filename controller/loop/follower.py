"""A thread that turns the engine's events into wake-ups. When the stream fails or goes silent, the relist still comes."""

from __future__ import annotations

import threading

from controller.errors import StewardError
from controller.ports import ContainerEvents, Wakeups
from controller.settings import Bounds


class EventFollower:
    """Follows the event stream until it is stopped, reconnecting with a growing pause."""

    def __init__(self, events: ContainerEvents, wakeups: Wakeups, bounds: Bounds) -> None:
        """Nothing runs before start()."""
        self._events = events
        self._wakeups = wakeups
        self._bounds = bounds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """End; a read under way ends with its own bound and the thread does not hold the process."""
        self._stop.set()

    def _run(self) -> None:
        pause = self._bounds.backoff_first
        while not self._stop.is_set():
            try:
                self._events.follow(lambda _text: self._wakeups.wake("event"), self._stop.is_set)
                pause = self._bounds.backoff_first
            except StewardError:
                pause = min(self._bounds.backoff_cap, pause * 2)
            self._stop.wait(pause)
            self._wakeups.wake("relist")
