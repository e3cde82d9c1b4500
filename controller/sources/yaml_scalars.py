"""What an unquoted YAML value means: the core schema of YAML 1.2, and nothing of YAML 1.1.

`no`, `on`, `yes`, `off` and `1:59` are text here. Two things are stricter than the core schema: a number with a leading zero
(`0644`, `08`) stays text, because readers disagree on it, so that a field for numbers rejects it; infinity, not-a-number and
integers beyond 64 bits are refused, because no field of ours can mean them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from controller.model.document import Scalar

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMERIC_START: Final = frozenset("-+.0123456789")
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LONGEST: Final = 40
"""No integer of 64 bits is written longer in any base; Python's own conversion of huge ones is slow."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A value that YAML allows and Steward does not; `reason` is a sentence for its author."""

    reason: str


def plain_value(text: str) -> Scalar | Refused:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    if _DECIMAL.fullmatch(text):
        return _integer(text, 10)
    if _BASED.fullmatch(text):
        return _integer(text[2:], 8 if text[1] == "o" else 16)
    if _FLOAT.fullmatch(text):
        return _finite(text)
    return Refused("it is no number that Steward can use") if _SPECIAL.fullmatch(text) else text


def _integer(digits: str, base: int) -> int | Refused:
    value = int(digits, base) if len(digits) <= _LONGEST else None
    if value is None or not -(2**63) <= value < 2**63:
        return Refused("the number does not fit into 64 bits")
    return value


def _finite(text: str) -> float | Refused:
    value = float(text)
    return value if math.isfinite(value) else Refused("the number is too large")
