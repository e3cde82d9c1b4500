"""Reads the metrics page of an engine: names to values, summed over labels.

The one folder that imports prometheus_client is observability, which writes Steward's own metrics. What engines print is only
ever looked up by name here, and a parser that rejects a whole page for one line that it does not like would turn a serving
engine into an unknown one. So this reads what it can and ignores the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

MAX_LINES: Final = 50_000
"""Lines that are read of one page; vLLM prints a few hundred for one model."""
MAX_NAMES: Final = 5_000

MAX_LINE: Final = 16_384

_LINE: Final = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*+)[ \t]*+(?:\{.*\})?[ \t]*+(\S++)(?:[ \t]++-?\d++)?[ \t\r]*+")


def samples(text: str) -> dict[str, float]:
    """Every finite sample of a page by its full name, summed over its labels; malformed lines, NaN and infinity are left out.

    A gauge that several ranks of one engine report is their sum, so that a share may exceed 1 and is capped by its dialect.
    """
    found: dict[str, float] = {}
    for line in text.split("\n", MAX_LINES)[:MAX_LINES]:
        match = None if line.startswith("#") or len(line) > MAX_LINE else _LINE.fullmatch(line)
        value = _number(match[2]) if match else None
        if match is None or value is None:
            continue
        name = match[1]
        if name in found:
            found[name] += value
        elif len(found) < MAX_NAMES:
            found[name] = value
    return found


def first(found: Mapping[str, float], *names: str) -> float | None:
    """The value under the first of these names that is there: what an engine called it, newest name first."""
    return next((found[name] for name in names if name in found), None)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
