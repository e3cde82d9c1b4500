"""`steward logs NAME`: what an instance's engine prints, also after it has ended."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from controller.app.files import is_simulated
from controller.cli.arguments import MOST_LINES, line_count
from controller.cli.output import print_text, tell
from controller.cli.talk import controller_needed
from controller.model.observed import LogExcerpt
from controller.settings import Settings

if TYPE_CHECKING:
    from observability.api import ReadLog

FOLLOW_S: Final = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("name", metavar="NAME", help="the instance")
    parser.add_argument("--tail", type=line_count, default=100, metavar="N", help="how many lines (default: 100)")
    parser.add_argument("--follow", "-f", action="store_true", help="go on printing what comes")
    parser.add_argument("--previous", action="store_true", help="the container before the present one")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the log."""
    read = _reader(settings)
    found = read(options.name, options.tail, options.previous)
    print_text("\n".join(found.lines))
    if options.follow:
        _follow(options.name, read, options.previous, found)
    return 0


def _reader(settings: Settings) -> ReadLog:
    """Straight from the container engine; a simulated one lives in the controller's process, which is asked."""
    if not is_simulated(settings.rig):
        from controller.app.logs import LogBook
        from controller.app.world import parts_of

        return LogBook(settings, parts_of(settings).world).read
    client = controller_needed(settings)

    def read(name: str, lines: int, previous: bool) -> LogExcerpt:
        document = client.get(f"/logs/{quote(name, safe='')}?lines={lines}&previous={int(previous)}")
        return LogExcerpt(document["container"], document["name"], tuple(document["lines"]))

    return read


def _follow(name: str, read: ReadLog, previous: bool, shown: LogExcerpt) -> None:
    """Print what comes, over a replacement of the container too."""
    before = shown.lines
    while True:
        time.sleep(FOLLOW_S)
        newest = read(name, MOST_LINES, previous)
        if newest.container != shown.container:
            tell(f"steward: {name} is now container {newest.name}")
            before = ()
        print_text("\n".join(fresh(before, newest.lines)))
        shown, before = newest, newest.lines


def fresh(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of `after` that follow the longest end of `before` with which it begins.

    A last line that has grown since, as progress dots do, comes again as a whole.
    """
    for start in range(len(before) + 1):
        known = len(before) - start
        if after[:known] == before[start:]:
            return after[known:]
        if known <= len(after) and after[: known - 1] == before[start:-1] and after[known - 1].startswith(before[-1]):
            return after[known - 1 :]
    return after
