"""Where verbs print: text for people, JSON for programs; colour and width only from a terminal."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, TextIO

UNCUT: Final = 1000
"""The width of what is no terminal: nothing is cut there."""


def add_output(parser: argparse.ArgumentParser, *more: str) -> None:
    """The `--output` flag."""
    parser.add_argument("--output", choices=("text", "json", *more), default="text", help="how to print (default: text)")


def print_json(document: Mapping[str, object]) -> None:
    """One JSON document over several lines."""
    print_text(json.dumps(document, indent=2))


def print_json_line(document: Mapping[str, object]) -> None:
    """One JSON document on one line, for streams of them."""
    print_text(json.dumps(document))


def print_text(text: str) -> None:
    """Text that ends with exactly one line end, at once also through a pipe; nothing for no text."""
    if text := text.rstrip("\n"):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def tell(text: str) -> None:
    """What is no result goes to stderr; a reader who has gone must not end the work."""
    with suppress(OSError):
        sys.stderr.write(text.rstrip("\n") + "\n")
        sys.stderr.flush()


def has_color(stream: TextIO | None = None) -> bool:
    """Whether a stream (default: stdout) takes colour; NO_COLOR and a dumb terminal are honoured."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return (stream or sys.stdout).isatty() and not plain


def width() -> int:
    """Columns of the terminal, or those that COLUMNS names."""
    wanted = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return shutil.get_terminal_size((100, 24)).columns if wanted else UNCUT
