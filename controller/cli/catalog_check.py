"""`steward catalog check`: does every document fit its kind, does every name lead somewhere, are the images still there?"""

from __future__ import annotations

import argparse

from controller.cli.output import add_output, has_color, print_json, print_text, width
from controller.model.problem import has_errors, in_report_order
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("--online", action="store_true", help="ask the registries whether they still have each image")
    add_output(parser)


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print every problem; 0 when there is no error."""
    from controller.app.catalogue import shelf_of
    from controller.resolve.catalogue_check import check_catalogue

    profiles = shelf_of(settings).profiles
    problems, online = list(check_catalogue(profiles.catalogue)), []
    if options.online:
        from controller.app.images import images_online

        for line, differing in images_online(profiles, settings.bounds):
            online.append(line)
            problems += differing
    if options.output == "json":
        from observability.documents import validate_document
        from observability.images import image_documents

        more = {"images": image_documents(online)} if options.online else {}
        print_json({**validate_document(problems), **more})
    else:
        from observability.text import problems_text
        from observability.text.images import images_text

        above = images_text(online, width=width(), color=has_color()) + "\n" if options.online else ""
        print_text(above + problems_text(in_report_order(problems), color=has_color()))
    return 1 if has_errors(problems) else 0
