"""The journal as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controller.model.events import Event
from observability.text.cells import clean


def events_text(events: Iterable[Event]) -> str:
    """One line an event: time, level where it is not `info`, kind, instance, message and cause."""
    return "".join(_line(event) + "\n" for event in events)


def _line(event: Event) -> str:
    level = "" if event.level == "info" else f"{event.level}: "
    where = f"{event.instance}: " if event.instance else ""
    cause = f" ({clean(event.cause)})" if event.cause else ""
    return f"{event.at.iso()}  {event.kind:<17}  {level}{where}{clean(event.message)}{cause}"
