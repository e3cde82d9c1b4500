"""`steward catalog list`: the templates that there are, or the models, engines, cards and what else the catalogue knows."""

from __future__ import annotations

import argparse
from typing import Final

from controller.cli.output import add_output, has_color, print_json, print_text, tell, width
from controller.settings import Settings

KINDS: Final = ("composes", "models", "engines", "hardware", "drafters", "workloads", "overlays", "limits")


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("--kind", choices=KINDS, help="what to list (default: composes; with --output json everything)")
    add_output(parser)


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print one row a document."""
    from controller.app.catalogue import shelf_of
    from observability.catalogue import KINDS as FOLDERS
    from observability.catalogue import catalogue_document
    from observability.text.catalogue import catalogue_text

    as_json = options.output == "json"
    kinds = KINDS if as_json and options.kind is None else (options.kind or KINDS[0],)
    profiles = shelf_of(settings).profiles
    document = catalogue_document(profiles, kinds)
    wrong = sum(len(profiles.catalogue.ids(FOLDERS[kind][0])) - len(rows) for kind, rows in document.items())
    if wrong:
        tell(f"steward: {wrong} of them cannot be read; `steward catalog check` says why")
    if as_json:
        print_json(document)
    else:
        print_text(catalogue_text(document[kinds[0]], kinds[0], width=width(), color=has_color()))
    return 0
