"""`steward schema`: the JSON schema of a file, for completion and checks in an editor."""

from __future__ import annotations

import argparse

from controller.cli.output import print_text
from controller.resolve.json_schema import SCHEMAS, schema_text
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("document", nargs="?", choices=sorted(SCHEMAS), default="estate", help="which file (default: estate)")


def run(options: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001 - every verb has this shape
    """Print the schema."""
    print_text(schema_text(options.document))
    return 0
