"""`steward apply`: make the rig as the estate says, then end; a running controller is nudged and followed."""

from __future__ import annotations

import argparse

from controller.cli.arguments import pause
from controller.cli.naming import check_names, name_list
from controller.cli.talk import client_of, command_of, taken
from controller.model.events import Verb
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("--only", metavar="A,B", help="act on these instances only")
    parser.add_argument("--timeout", type=pause, default=3600.0, metavar="10m", help="give up after this (default: 1h)")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Converge; 0 when nothing is left to do, 1 when something is in the way."""
    from controller.app.files import FileResolver, read_resolved

    resolved = read_resolved(settings, FileResolver(settings), {})
    only = frozenset(name_list(options.only))
    check_names(sorted(only), [instance.name for instance in resolved.instances])
    client = client_of(settings)
    if client is None:
        return _converge(settings, only, options.timeout)
    from controller.cli.follow import Follower

    follower = Follower(client, resolved.revision, only)
    taken(client.command(command_of(Verb.SYNC)))
    return follower.until_converged(options.timeout)


def _converge(settings: Settings, only: frozenset[str], timeout_s: float) -> int:
    from controller.app.live import controller_of
    from controller.cli.converging import Convergence, Goal
    from controller.cli.narrator import Narrator

    with controller_of(settings, Narrator(), only) as controller:
        return Convergence(controller, Goal.FILES, only, controller.real.clock.now().mono + timeout_s).run()
