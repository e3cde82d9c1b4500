"""`steward logs NAME`: what an instance's engine prints, also after it has ended."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Final

from controller.cli.arguments import MOST_LINES, line_count
from controller.cli.naming import check_names
from controller.cli.output import print_text, tell
from controller.errors import NotFound
from controller.model.observed import Container
from controller.settings import Settings

if TYPE_CHECKING:
    from controller.app.world import Real

FOLLOW_S: Final = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("name", metavar="NAME", help="the instance")
    parser.add_argument("--tail", type=line_count, default=100, metavar="N", help="how many lines (default: 100)")
    parser.add_argument("--follow", "-f", action="store_true", help="go on printing what comes")
    parser.add_argument("--previous", action="store_true", help="the container before the present one")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the log."""
    from controller.app.world import real

    parts = real(settings)
    mine = _containers(options.name, settings, parts)
    if options.previous and len(mine) < 2:
        raise NotFound(f"{options.name} has no earlier container")
    container = mine[1] if options.previous else mine[0]
    print_text("\n".join(parts.engine.tail(container.id, options.tail).lines))
    if options.follow:
        _follow(options, settings, parts, container)
    return 0


def _follow(options: argparse.Namespace, settings: Settings, parts: Real, container: Container) -> None:
    """Print what comes, over a replacement of the container too."""
    before = parts.engine.tail(container.id, MOST_LINES).lines
    while True:
        time.sleep(FOLLOW_S)
        newest = container if options.previous else _containers(options.name, settings, parts)[0]
        if newest.id != container.id:
            tell(f"steward: {options.name} is now container {newest.name}")
            container, before = newest, ()
        after = parts.engine.tail(container.id, MOST_LINES).lines
        print_text("\n".join(fresh(before, after)))
        before = after


def fresh(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of `after` that follow the longest end of `before` with which it begins."""
    for start in range(len(before) + 1):
        overlap = before[start:]
        if after[: len(overlap)] == overlap:
            return after[len(overlap) :]
    return after


def _containers(name: str, settings: Settings, parts: Real) -> list[Container]:
    """The instance's containers: a running one first, then the newest."""
    from controller.app.files import without_cards
    from controller.app.live import rig_name_of

    rig = rig_name_of(settings)
    ours = [(c, c.identity) for c in parts.engine.list() if c.identity and c.identity.rig == rig]
    mine = [(c.running, identity.generation, c) for c, identity in ours if identity.instance == name]
    if not mine:
        estate = without_cards(settings)
        known = {identity.instance for _, identity in ours} | {i.name for i in (estate.instances if estate else ())}
        check_names([name], sorted(known))
        raise NotFound(f"{name} has no container; `steward status` says why")
    return [c for *_, c in sorted(mine, key=lambda row: row[:2], reverse=True)]
