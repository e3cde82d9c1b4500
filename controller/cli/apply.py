"""`steward apply`: make the rig as the estate says, then end; a running controller is nudged and followed."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from controller.app.files import is_simulated
from controller.app.naming import check_names
from controller.cli.arguments import pause
from controller.cli.naming import name_list
from controller.cli.output import tell
from controller.cli.talk import client_of, command_of, taken
from controller.model.events import Verb
from controller.settings import Settings

if TYPE_CHECKING:
    from controller.app.live import Controller


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
        code = Convergence(controller, Goal.FILES, only, controller.parts.clock.now().mono + timeout_s).run()
        if is_simulated(settings.rig):
            _keep_simulated(controller, stay=code == 0 and sys.stdout.isatty())
        return code


def _keep_simulated(controller: Controller, *, stay: bool) -> None:
    """A simulated rig lives in this process: for a person it is kept up, and asked like any other, until Ctrl-C."""
    from controller.app.live import serving
    from controller.cli.signals import on_signals

    tell(f"steward: the simulated engines end with this process{'; Ctrl-C ends it' if stay else ''}")
    if stay:
        on_signals(controller.stop)
        with serving(controller):
            controller.runner.until(lambda _status: False, controller.stopping.is_set)
