"""`steward explain NAME`: every value of an instance with the file and line that it came from, and every rule's verdict."""

from __future__ import annotations

import argparse

from controller.app.files import FileResolver, read_resolved
from controller.cli.naming import instance_named
from controller.cli.output import print_text
from controller.resolve.explain import explain_text
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("name", metavar="NAME", help="the instance")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the values and the verdicts."""
    resolved = read_resolved(settings, FileResolver(settings), {})
    print_text(explain_text(instance_named(resolved, options.name)))
    return 0
