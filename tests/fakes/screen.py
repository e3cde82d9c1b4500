"""A terminal's screen as far as a live table needs one: it obeys escape codes, scrolls, and changes its size as real ones."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field

from observability.text.cells import columns

_TOKEN = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])|([\r\n])|([^\x1b])", re.DOTALL)
TAIL = ""
"""The second cell of a wide character."""


@dataclass(slots=True)
class Row:
    """One row of cells; `soft` when its text goes on in the next one."""

    cells: list[str] = field(default_factory=list)
    soft: bool = False

    @property
    def text(self) -> str:
        """What one reads."""
        return "".join(self.cells).rstrip()


@dataclass(slots=True)
class Screen:
    """Implements live_table.Terminal. `reflows`: a new width wraps the text anew, as in most terminals of today.

    A size in `next_size` comes into force at the next write, after the size was asked for.
    """

    width: int = 80
    height: int = 24
    reflows: bool = True
    rows: list[Row] = field(default_factory=lambda: [Row()])
    top: int = 0
    row: int = 0
    column: int = 0
    wraps: bool = True
    cursor_shown: bool = True
    writes: int = 0
    next_size: tuple[int, int] | None = None
    gone: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        self._check()
        return self.width, self.height

    def write(self, text: str) -> None:
        """Obey."""
        self._check()
        with self._lock:
            self.writes += 1
            if self.next_size is not None:
                self.resize(*self.next_size)
                self.next_size = None
            at = 0
            while at < len(text):
                found = _TOKEN.match(text, at)
                assert found is not None, f"no terminal understands {text[at : at + 10]!r}"
                self._obey(found)
                at = found.end()

    def resize(self, width: int, height: int) -> None:
        """Another size, from now on. What is below the window then, below the cursor, is gone."""
        with self._lock:
            self._resize(width, height)

    def _resize(self, width: int, height: int) -> None:
        if self.reflows:
            self._rewrap(width)
            self.top = max(0, len(self.rows) - height)
        else:
            for row in self.rows:
                del row.cells[width:]
        self.width, self.height = width, height
        self.top = min(max(self.top, self.row - height + 1), self.row)
        del self.rows[self.top + height :]

    @property
    def shown(self) -> list[str]:
        """The rows of the screen, without the empty ones at its end."""
        with self._lock:
            return self._texts(self.rows[self.top :])

    @property
    def lines(self) -> list[str]:
        """Everything from the first line of the scrollback on, soft wraps undone."""
        whole, part = [], ""
        with self._lock:
            rows = list(self.rows)
        for row in rows:
            part += "".join(row.cells) if row.soft else row.text
            if not row.soft:
                whole.append(Row([part]))
                part = ""
        return self._texts([*whole, Row([part])])

    def _texts(self, rows: list[Row]) -> list[str]:
        texts = [row.text for row in rows]
        while texts and not texts[-1]:
            texts.pop()
        return texts

    def _check(self) -> None:
        if self.gone:
            raise OSError("the terminal is gone")

    def _obey(self, found: re.Match[str]) -> None:
        mark, number, letter, control, char = found.groups()
        match (mark or "") + (letter or ""):
            case "A":
                self.row = max(self.top, self.row - int(number or 1))
            case "K":
                self._clear_row()
            case "J":
                self._clear_row()
                del self.rows[self.row + 1 :]
            case "?h" | "?l":
                self._set_mode(number, on=letter == "h")
            case "m":
                pass
            case "":
                self._put(char) if char else self._move(control)
            case other:
                raise AssertionError(f"no escape code {other}")

    def _set_mode(self, number: str, *, on: bool) -> None:
        assert number in ("7", "25"), f"no mode {number}"
        if number == "7":
            self.wraps = on
        else:
            self.cursor_shown = on

    def _move(self, control: str) -> None:
        if control == "\r":
            self.column = 0
        else:
            self._line_feed()

    def _line_feed(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append(Row())
        self.top = max(self.top, self.row - self.height + 1)

    def _put(self, char: str) -> None:
        wide = columns(char)
        if self.column + wide > self.width:
            if not self.wraps:
                self.column = self.width - wide
            else:
                self._cells()
                self.rows[self.row].soft = True
                self._line_feed()
                self.column = 0
        cells = self._cells()
        cells[self.column : self.column + max(1, wide)] = [char, *[TAIL] * (wide - 1)]
        self.column += wide

    def _cells(self) -> list[str]:
        cells = self.rows[self.row].cells
        cells.extend(" " * (self.column - len(cells)))
        return cells

    def _clear_row(self) -> None:
        del self.rows[self.row].cells[min(self.column, self.width - 1) :]
        self.rows[self.row].soft = False

    def _rewrap(self, width: int) -> None:
        """Break the paragraphs anew; the cursor stays on its character."""
        rows: list[Row] = []
        cells: list[str] = []
        place, offset = 0, None
        for number, row in enumerate(self.rows):
            if number == self.row:
                offset = len(cells) + self.column
            cells += row.cells
            if row.soft and number + 1 < len(self.rows):
                continue
            if offset is not None:
                place, self.column, offset = len(rows) + offset // width, offset % width, None
            rows += _broken(cells, width)
            cells = []
        self.rows, self.row = rows, place


def _broken(cells: list[str], width: int) -> list[Row]:
    rows = [Row(cells[at : at + width], soft=True) for at in range(0, len(cells), width)] or [Row()]
    rows[-1].soft = False
    return rows
