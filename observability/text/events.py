"""The journal as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from controller.model.events import Event
from observability.text.cells import clean


def events_text(events: Iterable[Event], *, brief: bool = False) -> str:
    """One line an event: time (`brief`: of the day here), kind, level where it is not `info`, instance, message and cause."""
    return "".join(_line(event, brief=brief) + "\n" for event in events)


def _line(event: Event, *, brief: bool) -> str:
    at = f"{datetime.fromtimestamp(event.at.wall):%H:%M:%S}" if brief else event.at.iso()
    level = "" if event.level == "info" else f"{event.level}: "
    where = f"{event.instance}: " if event.instance else ""
    cause = f" ({clean(event.cause)})" if event.cause else ""
    return f"{at}  {event.kind:<17}  {level}{where}{clean(event.message)}{cause}"
