"""`steward run`: keep the rig as the estate says until it is told to end. Engines outlive it."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from types import FrameType

from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def run(options: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001 - every verb has this shape
    """Run until SIGTERM or SIGINT."""
    from controller.app.live import controller_of, serving, wait_for_engine

    ending = threading.Event()
    _on_signals(ending.set)
    wait_for_engine(settings, ending.is_set, lambda text: print(f"steward: {text}", file=sys.stderr))
    if ending.is_set():
        return 0
    with controller_of(settings, log=True) as controller, serving(controller) as server:
        _on_signals(controller.stop)
        if ending.is_set():
            controller.stop()
        print(f"steward: keeping {settings.estate} on http://{server.address}/, Ctrl-C ends it", file=sys.stderr)
        controller.runner.until(lambda _status: False, controller.stopping.is_set)
    return 0


def _on_signals(end: object) -> None:
    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a signal handler
        if callable(end):
            end()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
