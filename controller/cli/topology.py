"""`steward topology`, also `steward rig topology`: the cards, how they are linked, and what suits such a rig."""

from __future__ import annotations

import argparse

from controller.cli.output import add_output, has_color, print_json, print_text, width
from controller.model.reading import Unknown
from controller.settings import Settings

SHOWN, UNREADABLE = 0, 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser)


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the cards of `--rig`; 3 when they cannot be read."""
    from controller.app.cards import typed_cards
    from observability.text import topology_text
    from observability.topology import topology_document

    facts, types = typed_cards(settings)
    document = topology_document(facts, {uuid: profile.id for uuid, profile in types.items()}, settings.rig)
    if options.output == "json":
        print_json(document)
    else:
        print_text(topology_text(document, width=width(), color=has_color()))
    return UNREADABLE if isinstance(facts.cards, Unknown) else SHOWN
