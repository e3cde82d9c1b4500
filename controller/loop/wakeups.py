"""Reasons to look again, gathered from any thread until the loop takes them."""

from __future__ import annotations

import threading


class WakeupQueue:
    """Implements the port Wakeups; equal triggers between two passes are one."""

    def __init__(self) -> None:
        """Start without any trigger."""
        self._ready = threading.Condition()
        self._triggers: set[str] = set()

    def wake(self, trigger: str) -> None:
        """Let the loop begin its next pass now."""
        with self._ready:
            self._triggers.add(trigger)
            self._ready.notify_all()

    def wait(self, timeout_s: float) -> frozenset[str]:
        """The triggers since the last call, at the latest after `timeout_s` seconds (then perhaps none)."""
        with self._ready:
            if not self._triggers:
                self._ready.wait(max(0.0, timeout_s))
            taken = frozenset(self._triggers)
            self._triggers.clear()
            return taken
