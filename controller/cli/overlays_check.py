"""`steward overlays check`: are the records of overlays right, and their files the ones that were kept?"""

from __future__ import annotations

import argparse

from controller.cli.output import add_output, has_color, print_json, print_text
from controller.model.problem import has_errors, in_report_order
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser)


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print every problem; 0 when there is no error."""
    from controller.app.overlays import OverlayShelf

    problems = in_report_order(OverlayShelf(settings).problems())
    if options.output == "json":
        from observability.documents import validate_document

        print_json(validate_document(problems))
    else:
        from observability.text import problems_text

        print_text(problems_text(problems, color=has_color()))
    return 1 if has_errors(problems) else 0
