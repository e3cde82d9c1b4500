"""`steward run`: keep the rig as the estate says until it is told to end. Engines outlive it."""

from __future__ import annotations

import argparse
import sys
import threading
from typing import TYPE_CHECKING

from controller.app.files import is_simulated
from controller.cli.signals import on_signals
from controller.settings import Settings

if TYPE_CHECKING:
    from controller.ports import Recorder


def configure(parser: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def run(options: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001 - every verb has this shape
    """Run until SIGTERM or SIGINT."""
    from controller.app.live import controller_of, serving, wait_for_engine

    ending, journal = threading.Event(), _journal()
    on_signals(ending.set)
    wait_for_engine(settings, ending, lambda text: _say(journal, "EngineUnreachable", text, level="warning"))
    if ending.is_set():
        return 0
    with controller_of(settings, journal) as controller, serving(controller) as server:
        on_signals(controller.stop)
        if ending.is_set():
            controller.stop()
        _say(journal, "ControllerStarted", f"keeping {settings.estate} on http://{server.address}/, Ctrl-C ends it")
        controller.runner.until(lambda _status: False, controller.stopping.is_set)
    left = "its simulated engines with it" if is_simulated(settings.rig) else "the engines go on"
    _say(journal, "ControllerEnded", f"the controller has ended; {left}")
    return 0


def _journal() -> Recorder:
    """JSON lines for log collectors, text for a terminal."""
    from controller.cli.narrator import Narrator
    from observability.journal import JsonLog

    return Narrator() if sys.stderr.isatty() else JsonLog()


def _say(journal: Recorder, kind: str, message: str, *, level: str = "info") -> None:
    """A line about the process itself; it is not part of the rig's history."""
    from controller.adapters.kernel_clock import KernelClock
    from controller.model.events import Event

    journal.event(Event(KernelClock().now(), kind, message, level=level))
