"""`steward logs NAME`: what an instance's engine prints, also after it has ended."""

from __future__ import annotations

import argparse
import time

from controller.app.live import rig_name_of
from controller.app.world import real
from controller.cli.naming import check_names
from controller.cli.output import print_text
from controller.errors import NotFound
from controller.model.observed import Container
from controller.settings import Settings

FOLLOW_S = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("name", metavar="NAME", help="the instance")
    parser.add_argument("--tail", type=int, default=100, metavar="N", help="how many lines (default: 100)")
    parser.add_argument("--follow", "-f", action="store_true", help="go on printing what comes")
    parser.add_argument("--previous", action="store_true", help="the container before the present one")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the log."""
    parts = real(settings)
    container = _container(options, settings, parts.engine.list())
    tail = parts.engine.tail(container.id, options.tail)
    print_text("\n".join(tail.lines))
    while options.follow:
        time.sleep(FOLLOW_S)
        newer = parts.engine.tail(container.id, options.tail)
        if fresh := _fresh(tail.lines, newer.lines):
            print_text("\n".join(fresh))
        tail = newer
    return 0


def _fresh(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of `after` that follow the longest end of `before` with which it begins."""
    for start in range(len(before) + 1):
        overlap = before[start:]
        if after[: len(overlap)] == overlap:
            return after[len(overlap) :]
    return after


def _container(options: argparse.Namespace, settings: Settings, containers: tuple[Container, ...]) -> Container:
    rig = rig_name_of(settings)
    ours = [c for c in containers if c.identity and c.identity.rig == rig]
    check_names([options.name], sorted({c.identity.instance for c in ours if c.identity}))
    mine = [c for c in ours if c.identity and c.identity.instance == options.name]
    mine.sort(key=lambda c: (c.running, c.identity.generation if c.identity else 0), reverse=True)
    if options.previous and len(mine) < 2:
        raise NotFound(f"{options.name} has no earlier container")
    return mine[1] if options.previous else mine[0]
