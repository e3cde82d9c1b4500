"""Types of arguments that several verbs take; argparse tells what is wrong with one."""

from __future__ import annotations

import argparse
from typing import Final

from controller.model.fields import parse_duration

MOST_LINES: Final = 10_000
"""More lines than this are a file, not a screen."""


def duration(text: str) -> float:
    """Seconds from `10m`; argparse's own error for anything else."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}, found {text!r}") from error


def pause(text: str) -> float:
    """A duration above zero."""
    seconds = duration(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"expected a duration above zero, found {text!r}")
    return seconds


def line_count(text: str) -> int:
    """A number of lines to print."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_LINES):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {MOST_LINES}, found {text!r}")
    return int(text)
