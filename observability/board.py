"""The board on which the loop hangs its latest status and from which the HTTP thread reads.

Both threads only ever swap or read one reference to a frozen value, so there is no lock and a reader never waits for a pass.
"""

from __future__ import annotations

import time

from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.status import Status


class Board:
    """A Recorder that keeps the latest status and when the last pass ended."""

    def __init__(self) -> None:
        """Empty; the age of the last pass counts from now until there is one."""
        self._status: Status | None = None
        self._passed_at = time.monotonic()

    @property
    def status(self) -> Status | None:
        """The rig as the last pass left it; None before the first one."""
        return self._status

    def pass_age(self) -> float:
        """Seconds since a pass ended, whatever its result: a failed one shows that the loop is alive."""
        return time.monotonic() - self._passed_at

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:  # noqa: ARG002 - the port's shape
        """One pass ended."""
        self._passed_at = time.monotonic()

    def show(self, status: Status) -> None:
        """Hang up the newest status."""
        self._status = status

    def acted(self, instance: str, action: str, result: str) -> None:
        """An action shows in the next status."""

    def event(self, event: Event) -> None:
        """Events are read from the store."""
