"""`steward render NAME`: the instance as a Compose document, for people who want to see or to run it by hand."""

from __future__ import annotations

import argparse

from controller.app.files import FileResolver, read_resolved
from controller.app.payloads import payloads_of
from controller.cli.naming import instance_named
from controller.cli.output import print_text
from controller.resolve.render import render
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("name", metavar="NAME", help="the instance")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the document."""
    resolved = read_resolved(settings, FileResolver(settings), {})
    print_text(render(instance_named(resolved, options.name), resolved.rig, payloads_of(settings).folder))
    return 0
