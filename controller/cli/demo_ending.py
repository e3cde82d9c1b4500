"""What ends a demo: the first signal in good order, the second at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from controller.cli.signals import on_signals

ENDED_AT_ONCE: Final = 130


def _nothing() -> None:
    """Before there is anything to do."""


@dataclass(slots=True)
class Ending:
    """`stop` lets the loop end; `give_back` puts the terminal right. Both are called from a signal handler."""

    stop: Callable[[], None] = _nothing
    give_back: Callable[[], None] = _nothing
    asked: bool = False

    def listen(self) -> None:
        """Take Ctrl-C, SIGTERM, and the end of the terminal where it is not ignored (`nohup`)."""
        on_signals(self.ask)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, lambda _number, _frame: self.ask())

    def ask(self) -> None:
        """End; a second time at once."""
        if self.asked:
            self._at_once()
        self.asked = True
        self.stop()

    def _at_once(self) -> NoReturn:
        """Leave everything behind: the engines end by themselves when this process is gone."""
        self.give_back()
        os._exit(ENDED_AT_ONCE)
