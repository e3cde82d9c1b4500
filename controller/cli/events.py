"""`steward events`: the journal of what Steward did and why; it is read from the store, also while no controller runs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from typing import Final

from controller.cli.arguments import line_count
from controller.cli.output import add_output, print_json_line, print_text, tell
from controller.errors import NotFound
from controller.model.events import Event
from controller.settings import Settings

FOLLOW_S: Final = 0.5
AT_ONCE: Final = 500
"""Lines that one look takes while following."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser)
    parser.add_argument("--tail", type=line_count, default=50, metavar="N", help="how many lines (default: 50)")
    parser.add_argument("--follow", "-f", action="store_true", help="go on printing what comes")
    parser.add_argument("--instance", metavar="NAME", help="only lines of this instance")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the journal; under `--output json` one document a line."""
    from controller.app.world import reading

    with reading(settings) as store:
        if store is None:
            raise NotFound(f"there is no journal yet in {settings.state}; `steward run` or `steward apply` begins one")
        newest = store.events(-1, settings.bounds.journal_rows if options.instance else options.tail)
        found = [event for event in newest if options.instance in (None, event.instance)][-options.tail :]
        _print(found, options.output)
        if not found and options.instance:
            tell(f"steward: the journal has no line about {options.instance}")
        last = newest[-1].sequence if newest else 0
        while options.follow:
            time.sleep(FOLLOW_S)
            newest = store.events(last, AT_ONCE)
            last = newest[-1].sequence if newest else last
            _print((event for event in newest if options.instance in (None, event.instance)), options.output)
    return 0


def _print(events: Iterable[Event], output: str) -> None:
    from observability.documents import event_document
    from observability.text import events_text

    if output == "text":
        print_text(events_text(events))
    else:
        for event in events:
            print_json_line(event_document(event))
