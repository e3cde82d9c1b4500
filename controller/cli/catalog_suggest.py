"""`steward catalog suggest`: which templates suit a kind of use on this rig, best first, and an entry for the first."""

from __future__ import annotations

import argparse
from typing import Final

from controller.cli.arguments import line_count
from controller.cli.output import add_output, has_color, print_json, print_text, width
from controller.settings import Settings

SHOWN: Final = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("--workload", metavar="ID", required=True, help="the kind of use; `catalog list --kind workloads`")
    parser.add_argument("--model", metavar="ID", help="this model only")
    parser.add_argument("--count", metavar="N", type=line_count, default=SHOWN, help=f"how many to show (default: {SHOWN})")
    add_output(parser)


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print them; 1 when nothing suits."""
    from dataclasses import replace

    from controller.app.catalogue import suggested
    from controller.resolve.estate_text import entries_yaml
    from observability.catalogue import suggestions_document
    from observability.text.catalogue import suggestions_text

    found = suggested(settings, options.workload, options.model)
    entry = entries_yaml([found.ranked[0].entry]) if found.ranked else ""
    if options.output == "json":
        few = replace(found, ranked=found.ranked[: options.count])
        print_json(suggestions_document(few, settings.rig, options.workload, entry))
    else:
        print_text(suggestions_text(found, settings.rig, options.count, width=width(), color=has_color()))
        print_text(f"\n{entry}" if entry else "nothing suits; templates such as vllm/generic take any model")
    return 0 if found.ranked else 1
