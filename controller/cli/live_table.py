"""A table that stays at the bottom of a terminal while lines scroll by above it, into the scrollback.

The cursor rests on the first cell of the table. Whatever a terminal does to its text when the window changes, it does to the
cursor too, so that no position is remembered: the next picture begins where the cursor is. Only the table's own rows are
counted, and they cannot wrap, because wrapping is off while they are painted; lines above it wrap and can be copied whole.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from observability.text.cells import cut
from observability.text.units import count

UNPAINTED: Final = 10_000
"""Lines that may wait for a terminal that takes none, before the oldest are dropped."""
REPAINT_S: Final = 1.0
LOOK_S: Final = 0.2
"""How often the window's size is looked at."""
LAST_PICTURE_S: Final = 2.0
"""How long the end waits for a picture that is being written."""
CLEAR_ROW: Final = "\x1b[K"
CLEAR_BELOW: Final = "\x1b[J"
WRAP_OFF: Final = "\x1b[?7l"
WRAP_ON: Final = "\x1b[?7h"

Rows = Callable[[int], Sequence[str]]
"""The table for a number of columns: no row is wider, and colours end with their row."""


class Terminal(Protocol):
    """Where the table stands. Both raise OSError when nobody is there any more."""

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        ...

    def write(self, text: str) -> None:
        """All of the text at once."""
        ...


def _nothing(width: int) -> Sequence[str]:  # noqa: ARG001 - the shape of Rows
    return ()


@dataclass(slots=True)
class LiveTable:
    """Any thread says lines and shows tables; one paints."""

    terminal: Terminal
    changed: threading.Event = field(default_factory=threading.Event)
    """Set by whatever the next picture has to show."""
    _rows: Rows = _nothing
    _said: deque[str] = field(default_factory=lambda: deque(maxlen=UNPAINTED))

    def say(self, text: str) -> None:
        """Put lines above the table."""
        self._said.extend(text.splitlines())
        self.changed.set()

    def show(self, rows: Rows) -> None:
        """Make this the table."""
        self._rows = rows
        self.changed.set()

    def paint(self) -> None:
        """Write what was said, and the table over its present picture, in one piece; raises OSError."""
        self.changed.clear()
        columns, lines = self.terminal.size()
        width = max(1, columns - 1)  # terminals differ in where the cursor is behind the last column
        self.terminal.write(self._above() + _picture(fitted(self._rows(width), width, max(1, lines - 1))))

    def clear(self) -> None:
        """Write what was said, and take the table away; raises OSError."""
        self.terminal.write(self._above() + f"\r{CLEAR_BELOW}")

    def _above(self) -> str:
        lines = []
        while self._said:
            lines.append(f"{self._said.popleft()}\r\n")
        return f"\r{CLEAR_BELOW}{''.join(lines)}" if lines else ""


@contextmanager
def painting(table: LiveTable, gone: Callable[[], None]) -> Iterator[None]:
    """Paint each change of the table and of the window, and at least once a second, from a thread of its own.

    At the end the table is taken away. `gone` is called when nobody is there to see it any more.
    """
    ending = threading.Event()
    thread = threading.Thread(target=_paint_on, args=(table, ending.is_set, gone), name="steward-table", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        table.changed.set()
        thread.join(LAST_PICTURE_S)
        with suppress(OSError):
            table.clear()


def _paint_on(table: LiveTable, ending: Callable[[], bool], gone: Callable[[], None]) -> None:
    painted, size = -math.inf, (0, 0)
    try:
        while not ending():
            due = time.monotonic() >= painted + REPAINT_S
            if due or table.changed.is_set() or table.terminal.size() != size:
                painted, size = time.monotonic(), table.terminal.size()
                table.paint()
            table.changed.wait(LOOK_S)
    except OSError:
        gone()


def fitted(rows: Sequence[str], width: int, height: int) -> Sequence[str]:
    """The rows if they fit into the height, else the first ones and how many are left out."""
    if len(rows) <= height:
        return rows
    left = len(rows) - height + 1
    return [*rows[: height - 1], cut(f"… {count(left, 'row')} more", width)]


def _picture(rows: Sequence[str]) -> str:
    """Each row over the old one, what is left of the old picture cleared, and the cursor back on the first cell."""
    painted = f"{CLEAR_ROW}\r\n".join(rows)
    up = f"\x1b[{len(rows) - 1}A" if len(rows) > 1 else ""
    return f"\r{WRAP_OFF}{painted}{CLEAR_BELOW}{WRAP_ON}{up}\r"
