"""Cells, columns and colour: a row is cut with an ellipsis and never wraps, however narrow the terminal. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Sequences that colour text or move the cursor."""

GAP: Final = 2
UNKNOWN: Final = "-"
"""Stands for what is not known; a figure of 0 would be a claim."""


class Color(Enum):
    """The few colours that carry a meaning, as ANSI codes."""

    NONE = ""
    GOOD = "32"
    WARN = "33"
    BAD = "31"
    FAINT = "2"
    BOLD = "1"


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of a row."""

    text: str
    color: Color = Color.NONE
    right: bool = False


def paint(text: str, color: Color, *, on: bool) -> str:
    """The text in a colour, if colour is wanted."""
    return f"\x1b[{color.value}m{text}\x1b[0m" if on and color.value and text else text


def clean(text: str) -> str:
    """One line without control characters: engines' logs reach messages, and must not drive the terminal."""
    plain = _ESCAPES.sub("", text)
    return " ".join("".join(char if char.isprintable() else " " for char in plain).split())


def columns(text: str) -> int:
    """How many terminal columns a text takes."""
    return sum(_columns(char) for char in text)


def cut(text: str, width: int) -> str:
    """The text if it fits, else as much as fits before an ellipsis."""
    if columns(text) <= width:
        return text
    if width <= 0:
        return ""
    kept, room = [], width - 1
    for char in text:
        room -= _columns(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept) + "…"


def wrapped(text: str, width: int) -> list[str]:
    """The text broken at spaces; a word that is wider than a line is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and columns(lines[-1]) + 1 + columns(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [cut(line, width) for line in lines]


def table(rows: Sequence[Sequence[Cell]], width: int, *, color: bool) -> list[str]:
    """One line a row, columns aligned, none wider than `width`."""
    widths = [max(columns(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    return [_line(row, widths, width, color=color) for row in rows]


def _line(row: Sequence[Cell], widths: Sequence[int], width: int, *, color: bool) -> str:
    room, parts = width, []
    for number, (cell, own) in enumerate(zip(row, widths, strict=True)):
        gap = " " * GAP if number else ""
        last = number == len(row) - 1
        text = cut(gap + _padded(cell, own, last=last), room)
        room -= columns(text)
        parts.append(paint(text, cell.color, on=color))
        if room <= 0:
            break
    return "".join(parts) if color else "".join(parts).rstrip()


def _padded(cell: Cell, width: int, *, last: bool) -> str:
    fill = " " * (width - columns(cell.text))
    if cell.right:
        return fill + cell.text
    return cell.text if last else cell.text + fill


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
