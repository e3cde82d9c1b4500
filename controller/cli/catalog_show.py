"""`steward catalog show ID`: one template, model, engine, card or whatever else the catalogue knows, in full."""

from __future__ import annotations

import argparse

from controller.cli.catalog_list import KINDS
from controller.cli.output import add_output, has_color, print_json, print_text, width
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("id", metavar="ID", help="a template such as vllm/dual, or the id of a profile")
    parser.add_argument("--kind", choices=KINDS, help="what it is, where several have this id")
    add_output(parser)


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print it."""
    from controller.app.catalogue import document_of, shelf_of
    from observability.text.catalogue_show import profile_text, template_text

    document = document_of(shelf_of(settings).profiles, options.id, options.kind)
    if options.output == "json":
        print_json(document)
    elif "parameters" in document:
        print_text(template_text(document, width=width(), color=has_color()))
    else:
        print_text(profile_text(document, width=width(), color=has_color()))
    return 0
