"""Figures as people read them; what is not known is a dash. Pure."""

from __future__ import annotations

import math

from observability.text.cells import UNKNOWN

GIB = 2**30


def gib(size: int | None) -> str:
    """Bytes as GiB with one decimal."""
    return UNKNOWN if size is None else f"{size / GIB:.1f}"


def rate(value: float | None) -> str:
    """A rate with one decimal, without it from 1000 on."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def age(seconds: float | None) -> str:
    """A time span in its one or two largest units: `45s 12m 3h20m 2d4h`."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 2:
        return f"{whole}s"
    if hours < 1:
        return f"{minutes}m"
    if days < 1:
        return f"{hours}h{minutes % 60}m"
    return f"{days}d{hours % 24}h"


def count(number: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
