"""`steward events`: the journal of what Steward did and why; it is read from the store, also while no controller runs."""

from __future__ import annotations

import argparse
import time

from controller.cli.output import add_output, print_json, print_text
from controller.errors import NotFound
from controller.model.events import Event
from controller.settings import Settings

FOLLOW_S = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser)
    parser.add_argument("--tail", type=int, default=50, metavar="N", help="how many lines (default: 50)")
    parser.add_argument("--follow", "-f", action="store_true", help="go on printing what comes")
    parser.add_argument("--instance", metavar="NAME", help="only lines of this instance")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the journal."""
    from controller.store.sqlite import SqliteStore

    if not settings.store.exists():
        raise NotFound(f"there is no journal yet in {settings.state}; `steward run` or `steward apply` begins one")
    store = SqliteStore.open_readonly(settings.store)
    try:
        events = store.events(-1, options.tail)
        _print(events, options)
        while options.follow:
            time.sleep(FOLLOW_S)
            last = events[-1].sequence if events else 0
            events = store.events(last, 500) or events[-1:]
            _print([event for event in events if event.sequence > last], options)
    finally:
        store.close()
    return 0


def _print(events: tuple[Event, ...] | list[Event], options: argparse.Namespace) -> None:
    from observability.documents import event_document
    from observability.text import events_text

    wanted = tuple(e for e in events if not options.instance or e.instance == options.instance)
    if options.output == "json":
        for event in wanted:
            print_json(event_document(event))
    elif wanted:
        print_text(events_text(wanted))
