"""`steward start NAME`, or `--all`: lift a stop or a down, and try again what failed before."""

from __future__ import annotations

import argparse

from controller.cli.talk import command_of
from controller.cli.tell import carry
from controller.errors import UsageError
from controller.model.events import Verb
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="the instances")
    parser.add_argument("--all", action="store_true", help="every instance that the estate wants running")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Start."""
    if bool(options.names) == options.all:
        raise UsageError("name the instances to start, or all of them with --all, but not both")
    return carry(command_of(Verb.START, tuple(options.names)), settings)
