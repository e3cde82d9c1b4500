"""How Compose writes sizes and durations in a service; the forms are Compose's, not the estate's."""

from __future__ import annotations

import re
from typing import Final

_BYTES: Final = re.compile(r"(\d+(?:\.\d+)?) ?([bkmgtp]?)(?:i?b)?", re.IGNORECASE)
_POWERS: Final = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:us|ms|s|m|h))+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)")
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def compose_bytes(value: object) -> int:
    """Bytes of `16gb`, `512m`, `1024`; ValueError for anything else."""
    match = _BYTES.fullmatch(value.strip()) if isinstance(value, str) else None
    size = value if isinstance(value, int) else int(float(match[1]) * 1024 ** _POWERS[match[2].lower()]) if match else 0
    if size <= 0:
        raise ValueError("expected a size such as 16gb, 512m or a number of bytes")
    return size


def compose_seconds(text: object) -> float:
    """Seconds of `30s`, `1m30s`; ValueError for anything else."""
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        raise ValueError("expected a duration such as 30s or 1m30s")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
