"""Where verbs print: text for people, JSON for programs; colour and width only from a terminal."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping


def add_output(parser: argparse.ArgumentParser, *more: str) -> None:
    """The `--output` flag."""
    parser.add_argument("--output", choices=("text", "json", *more), default="text", help="how to print")


def print_json(document: Mapping[str, object]) -> None:
    """One JSON document."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def print_text(text: str) -> None:
    """Text that ends with exactly one line end."""
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def has_color() -> bool:
    """Whether stdout takes colour (NO_COLOR is honoured)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def width() -> int:
    """Columns of the terminal; wide when the output goes elsewhere."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 160
