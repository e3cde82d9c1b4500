"""What one run of a program has printed, as Docker shows it: whole lines as they end, the open one when the program is over."""

from __future__ import annotations

import threading
from collections import deque
from typing import Final

from controller.model.log_line import clean_lines

LINES: Final = 4000
CHARACTERS: Final = 1024 * 1024
OPEN_BYTES: Final = 64 * 1024
"""A line without an end becomes one here."""


class RunLog:
    """The last lines of one run; written by one thread, read by any."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._lock = threading.Lock()
        self._kept: deque[str] = deque(maxlen=LINES)
        self._characters = 0
        self._open = bytearray()

    def feed(self, piece: bytes) -> None:
        """Take what was printed next."""
        *ended, rest = (self._open + piece).split(b"\n")
        if len(rest) > OPEN_BYTES:
            ended, rest = [*ended, rest], bytearray()
        self._open = rest
        self._keep(b"\n".join(ended))

    def end(self) -> None:
        """The program is over: its open line counts."""
        self._keep(bytes(self._open))
        self._open = bytearray()

    def lines(self) -> tuple[str, ...]:
        """The lines that are kept, oldest first, without control characters."""
        with self._lock:
            return tuple(self._kept)

    def _keep(self, raw: bytes) -> None:
        lines = clean_lines(raw.decode("utf-8", "replace"))
        with self._lock:
            for line in lines:
                if len(self._kept) == LINES:
                    self._characters -= len(self._kept[0])
                self._kept.append(line)
                self._characters += len(line)
            while self._characters > CHARACTERS:
                self._characters -= len(self._kept.popleft())
