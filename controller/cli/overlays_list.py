"""`steward overlays list`: which overlays are on, which a build needs or has anyway, and what each waits for upstream."""

from __future__ import annotations

import argparse

from controller.cli.output import add_output, has_color, print_json, print_text, tell, width
from controller.errors import UsageError
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("--engine", metavar="ID", help="show the overlays that concern this engine profile")
    parser.add_argument("--image", metavar="REFERENCE", help="with --engine: show what this image would change")
    add_output(parser)


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print them."""
    from controller.app.overlays import OverlayShelf
    from observability.overlays import overlays_document
    from observability.text.overlays import overlays_text

    if options.image and not options.engine:
        raise UsageError("--image needs --engine, for an image is one of an engine")
    shelf = OverlayShelf(settings)
    lines = shelf.lines(options.engine, options.image)
    if not shelf.knows_estate:
        tell("steward: which overlays are on is not known, for the estate is not valid; `steward validate` says why")
    if options.output == "json":
        print_json(overlays_document(lines, options.engine, options.image))
    else:
        print_text(overlays_text(lines, width=width(), color=has_color()))
    return 0
