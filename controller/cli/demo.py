"""`steward demo`: a controller in a folder of its own, with simulated cards and engines, told to whoever watches."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from controller.cli.demo_ending import Ending
from controller.cli.output import print_text
from controller.errors import PortTaken, UsageError
from controller.settings import Settings

if TYPE_CHECKING:
    from controller.cli.demo_folder import DemoFolder

ITS_OWN: Final = ("estate", "rig", "state", "profiles")
"""Flags of every verb that a demo decides itself."""
ANY_PORT: Final = "127.0.0.1:0"
LAST_ACTIONS_S: Final = 3.0
"""How long the end waits for actions under way; the engines end all the same."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("--dir", type=Path, metavar="DIR", help="the folder to work in, which stays (default: a temporary one)")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Run until Ctrl-C, SIGTERM, or the end of the terminal."""
    _refuse(options)
    ending = Ending()
    ending.listen()
    from controller.cli.demo_folder import made
    from controller.cli.demo_rig import RIG

    folder = made(options.dir, RIG, lambda port: _is_free(f"127.0.0.1:{port}"))
    try:
        _run(folder, settings, ending, is_asked=options.listen is not None)
    finally:
        gone = folder.remove()
    left = "is removed" if gone else "stays" if options.dir else "stays, because something in it was changed"
    print_text(f"The demo has ended and its engines with it; {folder.path} {left}.")
    return 0


def _run(folder: DemoFolder, settings: Settings, ending: Ending, *, is_asked: bool) -> None:
    """With another address for the API than the usual one where that is taken and nobody asked for it."""
    from controller.cli.demo_run import Demo

    notes = [f"port {port} is taken on this machine, so that the estate has {other}" for port, other in folder.moved.items()]
    listen = settings.listen
    if not (is_asked or _is_free(listen)):
        notes.append(f"{listen} is taken on this machine, so that the API has another port")
        listen = ANY_PORT
    bounds = replace(settings.bounds, shutdown=LAST_ACTIONS_S)
    Demo(folder, replace(folder.settings(settings), listen=listen, bounds=bounds), ending, tuple(notes)).run()


def _refuse(options: argparse.Namespace) -> None:
    given = [f"--{flag}" for flag in ITS_OWN if getattr(options, flag) is not None]
    if given:
        what = "a demo has an estate, a rig and a state of its own"
        raise UsageError(f"{what}, so {given[0]} is none of its flags; --dir DIR names the folder that has them")


def _is_free(listen: str) -> bool:
    """Whether nobody listens there; what else is wrong with the address is told when it is really used."""
    from observability.listening import listen_tcp

    try:
        listen_tcp(listen).close()
    except PortTaken:
        return False
    return True
