"""The journal as text for the person at the terminal, while a verb works."""

from __future__ import annotations

from controller.cli.output import tell
from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.status import Status


class Narrator:
    """A Recorder that prints each journal line to stderr, as `steward events` does."""

    def event(self, event: Event) -> None:
        """Print one line."""
        from observability.text import events_text

        tell(events_text((event,)))

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:
        """Passes are counted, not told."""

    def acted(self, instance: str, action: str, result: str) -> None:
        """An action's end has a journal line of its own."""

    def show(self, status: Status) -> None:
        """The status is printed once, at the end."""
