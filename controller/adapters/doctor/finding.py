"""One result of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How a finding stands: `fail` keeps instances from running, `warn` makes them slow or fragile."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it stands, what was seen, and what to do about it (empty when nothing)."""

    name: str
    status: Health
    detail: str
    hint: str = ""


def gib(size: int) -> str:
    """Bytes for people."""
    return f"{size / 2**30:.1f} GiB"
