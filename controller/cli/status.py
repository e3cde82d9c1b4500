"""`steward status`: how every instance stands, from the running controller or by one look of its own."""

from __future__ import annotations

import argparse
import sys
import time

from controller.cli.output import add_output, has_color, print_json, print_text, width
from controller.cli.talk import client_of
from controller.cli.times import duration
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="base URLs and every condition")
    parser.add_argument("--watch", nargs="?", type=duration, const=2.0, metavar="2s", help="show it again and again")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the status once, or until Ctrl-C; 0 when the rig is converged."""
    if options.watch is None:
        return _show(options, settings)
    while True:
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[H\x1b[2J")
        _show(options, settings)
        time.sleep(options.watch)


def _show(options: argparse.Namespace, settings: Settings) -> int:
    client = client_of(settings)
    if client is not None:
        document = client.get("/api/v1/status")
        if options.output == "json":
            print_json(document)
        else:
            print_text(client.text("/api/v1/status", width=width(), color=has_color(), verbose=options.verbose))
        return 0 if document["converged"] else 1
    from observability.documents import status_document
    from observability.text import status_text

    from controller.app.peek import look

    status = look(settings).status
    if options.output == "json":
        print_json(status_document(status))
    else:
        print_text("no controller runs; this is one look at the engine\n")
        print_text(status_text(status, width=width(), color=has_color(), verbose=options.verbose))
    return 0 if status.converged else 1
