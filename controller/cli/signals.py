"""What ends a process that would go on for ever."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType


def on_signals(end: Callable[[], None]) -> None:
    """Call `end` on SIGTERM and on Ctrl-C."""

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a signal handler
        end()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
