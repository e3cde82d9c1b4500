"""`steward start NAME`: lift a stop, and try again what failed before."""

from __future__ import annotations

import argparse

from controller.cli.talk import command_of
from controller.cli.tell import carry
from controller.model.events import Verb
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("names", nargs="+", metavar="NAME", help="the instances")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Start."""
    return carry(command_of(Verb.START, tuple(options.names)), settings)
