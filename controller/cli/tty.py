"""The person's terminal, borrowed for a picture that is painted again and again, and given back as it was."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from controller.cli.live_table import CLEAR_BELOW, WRAP_ON

UNKNOWN_SIZE: Final = (80, 24)
"""What a terminal that does not know its size (a serial line, some pipes into containers) is taken for."""
_HIDE: Final = "\x1b[?25l"
_GIVE_BACK: Final = f"\r{CLEAR_BELOW}{WRAP_ON}\x1b[0m\x1b[?25h"
_LOCAL_FLAGS: Final = 3
"""Where the flags with ECHO are in the attributes of a terminal."""


@dataclass(slots=True)
class Tty:
    """Implements live_table.Terminal on a file descriptor."""

    descriptor: int
    encoding: str = "utf-8"
    _attributes: list[Any] | None = None
    """As they were, while they are changed."""

    def size(self) -> tuple[int, int]:
        """Columns and lines; raises OSError."""
        size = os.get_terminal_size(self.descriptor)
        return size.columns or UNKNOWN_SIZE[0], size.lines or UNKNOWN_SIZE[1]

    def write(self, text: str) -> None:
        """All of the text; raises OSError."""
        left = text.encode(self.encoding, "replace")
        while left:
            left = left[os.write(self.descriptor, left) :]

    def borrow(self) -> None:
        """Hide the cursor; what is typed is not shown, because it would move the picture."""
        with suppress(OSError, termios.error):
            if self._attributes is None and os.tcgetpgrp(self.descriptor) == os.getpgrp():
                quiet = termios.tcgetattr(self.descriptor)
                self._attributes = [*quiet]
                quiet[_LOCAL_FLAGS] &= ~termios.ECHO
                termios.tcsetattr(self.descriptor, termios.TCSADRAIN, quiet)
        with suppress(OSError):
            self.write(_HIDE)

    def give_back(self) -> None:
        """Take the picture away and put everything back; what was typed meanwhile was meant for nobody and is dropped."""
        with suppress(OSError):
            self.write(_GIVE_BACK)
        with suppress(OSError, termios.error):
            if self._attributes is not None:
                termios.tcsetattr(self.descriptor, termios.TCSAFLUSH, self._attributes)
        self._attributes = None


@contextmanager
def borrowed(tty: Tty) -> Iterator[Tty]:
    """The terminal until the block ends, however it ends; Ctrl-Z gives it back for as long as the process is stopped."""

    def pause(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a signal handler
        tty.give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        tty.borrow()

    before = signal.signal(signal.SIGTSTP, pause)
    tty.borrow()
    try:
        yield tty
    finally:
        signal.signal(signal.SIGTSTP, before)
        tty.give_back()
