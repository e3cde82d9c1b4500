"""`steward stop NAME`: take an instance down until `start`, or for a time, whatever the estate says."""

from __future__ import annotations

import argparse

from controller.cli.arguments import pause
from controller.cli.talk import command_of
from controller.cli.tell import carry
from controller.errors import UsageError
from controller.model.events import Verb
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="the instances")
    parser.add_argument("--gpu", metavar="N", help="every instance on this card (index or UUID)")
    parser.add_argument("--for", dest="for_s", type=pause, metavar="3h", help="start again by itself after this")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for the journal and for status")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Stop."""
    if bool(options.names) == (options.gpu is not None):
        raise UsageError("name the instances to stop, or a card with --gpu, but not both")
    return carry(command_of(Verb.STOP, tuple(options.names), options.gpu, options.for_s, options.reason), settings)
