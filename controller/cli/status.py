"""`steward status`: how every instance stands, from the running controller or by one look of its own."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from controller.app.files import is_simulated
from controller.cli.arguments import pause
from controller.cli.output import add_output, has_color, print_json, print_text, tell, width
from controller.cli.talk import client_of
from controller.errors import EstateInvalid, StewardError, UsageError
from controller.settings import Settings

if TYPE_CHECKING:
    from controller.app.peek import Look

CONVERGED, NOT_CONVERGED, UNREACHABLE = 0, 1, 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="base URLs, every condition, and the cards")
    parser.add_argument("--watch", nargs="?", type=pause, const=2.0, metavar="2s", help="show it again and again")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the status once, or until Ctrl-C; 0 when the rig is converged, 3 when Docker does not answer."""
    if options.watch is None:
        return _show(options, settings)
    while True:
        if sys.stdout.isatty() and options.output == "text":
            sys.stdout.write("\x1b[H\x1b[2J")
        _again(lambda: _show(options, settings))
        time.sleep(options.watch)


def _again(show: Callable[[], int]) -> None:
    """A watch goes on over a controller that restarts and an estate that is being edited."""
    try:
        show()
    except UsageError:
        raise
    except EstateInvalid as error:
        from observability.text import problems_text

        tell(problems_text(error.problems, color=has_color(sys.stderr)))
    except StewardError as error:
        tell(f"steward: {error}")


def _show(options: argparse.Namespace, settings: Settings) -> int:
    client = client_of(settings)
    if client is None:
        return _show_look(options, settings)
    document = client.get("/api/v1/status")
    if options.output == "json":
        print_json(document)
    else:
        print_text(client.text("/api/v1/status", width=width(), color=has_color(), verbose=options.verbose))
    return _code(document)


def _show_look(options: argparse.Namespace, settings: Settings) -> int:
    from controller.app.peek import look
    from observability.documents import status_document
    from observability.text import status_text

    seen = look(settings, fall_back=True)
    document = dict(status_document(seen.status))
    if options.output == "json":
        print_json(document)
    else:
        tell(_whose(seen, settings))
        print_text(status_text(seen.status, width=width(), color=has_color(), verbose=options.verbose))
    return _code(document)


def _whose(seen: Look, settings: Settings) -> str:
    """Who keeps the rig, as far as can be said."""
    if is_simulated(settings.rig):
        return f"no controller runs in {settings.state}, so that this simulated rig is empty"
    if seen.writer is not None:
        return f"another Steward (pid {seen.writer}) works on this rig and is not asked; this is one look at the engine"
    return "no controller runs; this is one look at the engine"


def _code(document: dict[str, Any]) -> int:
    answers = [c["status"] != "False" for c in document["conditions"] if c["type"] == "EngineReachable"]
    return UNREACHABLE if not all(answers) else CONVERGED if document["converged"] else NOT_CONVERGED
