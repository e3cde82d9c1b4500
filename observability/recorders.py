"""Several recorders as one, so that the loop tells what it did once."""

from __future__ import annotations

from collections.abc import Iterable

from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.status import Status
from controller.ports import Recorder


class Recorders:
    """Passes everything on, in order."""

    def __init__(self, recorders: Iterable[Recorder]) -> None:
        """Take the recorders to tell."""
        self._recorders = tuple(recorders)

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:
        """One pass ended."""
        for recorder in self._recorders:
            recorder.passed(trigger, result, seconds, now)

    def acted(self, instance: str, action: str, result: str) -> None:
        """One action ended."""
        for recorder in self._recorders:
            recorder.acted(instance, action, result)

    def event(self, event: Event) -> None:
        """One journal line was written."""
        for recorder in self._recorders:
            recorder.event(event)

    def show(self, status: Status) -> None:
        """The rig as the last pass left it."""
        for recorder in self._recorders:
            recorder.show(status)
