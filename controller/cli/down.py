"""`steward down`: stop every instance (or those named by --only); containers stay, so that `start` is quick."""

from __future__ import annotations

import argparse

from controller.cli.naming import name_list
from controller.cli.talk import command_of
from controller.cli.tell import carry
from controller.model.events import Verb
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("--only", metavar="A,B", help="stop these instances only")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for the journal and for status")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Take down."""
    return carry(command_of(Verb.DOWN, name_list(options.only), reason=options.reason), settings)
