"""`steward overlays fetch [ID...]`: bring the files of overlays, prove that they are the recorded ones, and keep them."""

from __future__ import annotations

import argparse

from controller.cli.output import print_text, tell
from controller.errors import EnvironmentFault
from controller.settings import Settings

DONE, WRONG, AWAY = 0, 1, 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("ids", metavar="ID", nargs="*", help="an overlay (default: those that the estate puts on)")
    parser.add_argument("--all", action="store_true", help="every overlay of the catalogue")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Say what became of each; 3 when a repository could not be reached, 1 when files are not the recorded ones."""
    from controller.app.overlays import OverlayShelf

    faults = []
    for fetched in OverlayShelf(settings).fetch(tuple(options.ids), everything=options.all):
        if fetched.fault is not None:
            faults.append(fetched.fault)
            tell(f"{fetched.overlay}: {fetched.fault}")
        else:
            print_text(f"{fetched.overlay}: {'fetched' if fetched.kept else 'there'}")
    if not faults:
        return DONE
    return AWAY if all(isinstance(fault, EnvironmentFault) for fault in faults) else WRONG
