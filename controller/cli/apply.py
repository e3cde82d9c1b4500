"""`steward apply`: make the rig as the estate says, then end; a running controller is nudged and followed."""

from __future__ import annotations

import argparse

from controller.cli.naming import check_names, name_list
from controller.cli.output import has_color, print_text, width
from controller.cli.talk import client_of, command_of, taken
from controller.cli.times import duration
from controller.errors import StewardError
from controller.model.events import Verb
from controller.model.status import Status
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("--only", metavar="A,B", help="act on these instances only")
    parser.add_argument("--timeout", type=duration, default=3600.0, metavar="10m", help="give up after this (default: 1h)")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Converge; 0 when nothing is left to do, 1 when something is in the way."""
    from controller.app.files import FileResolver, read_resolved

    resolved = read_resolved(settings, FileResolver(settings), {})
    only = name_list(options.only)
    check_names(only, [instance.name for instance in resolved.instances])
    client = client_of(settings)
    if client is None:
        return _converge(settings, frozenset(only), options.timeout)
    from controller.cli.follow import follow_until_converged

    taken(client.command(command_of(Verb.SYNC)))
    return follow_until_converged(client, resolved.revision, frozenset(only), options.timeout)


def _converge(settings: Settings, only: frozenset[str], timeout_s: float) -> int:
    from observability.text import status_text

    from controller.app.live import controller_of
    from controller.loop.run import is_settled, is_stuck

    with controller_of(settings, only, log=True) as controller:
        ends = controller.real.clock.now().mono + timeout_s

        def done(status: Status) -> bool:
            return is_settled(status, only) or is_stuck(status)

        status = controller.runner.until(done, lambda: controller.real.clock.now().mono >= ends)
    if status is None:
        raise StewardError("nothing could be read in time")
    print_text(status_text(status, width=width(), color=has_color(), verbose=False))
    return 0 if is_settled(status, only) else 1
