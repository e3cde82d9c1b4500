"""Time as a value: pure code receives an Instant and never asks a clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Instant:
    """One reading of both clocks, in seconds.

    `mono` never jumps and is meant for durations; `wall` is Unix time and is meant for display, labels and for
    comparing with times that another program wrote (Docker's, a file's `until`).
    """

    wall: float
    mono: float

    def iso(self) -> str:
        """The wall clock as RFC 3339 in UTC with milliseconds."""
        return iso(self.wall)


def iso(wall: float) -> str:
    """Unix seconds as RFC 3339 in UTC with milliseconds."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
