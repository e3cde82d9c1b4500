"""Durations on the command line."""

from __future__ import annotations

import argparse

from controller.model.fields import parse_duration


def duration(text: str) -> float:
    """Seconds from `10m`; argparse's own error for anything else."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
