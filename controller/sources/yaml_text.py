"""The bytes of a YAML file as text, or the one place that keeps them from being text.

Encoding and stray characters are looked at here, before any YAML parser, so that every parser sees the same clean text and
each refusal has an exact line and column.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from controller.model.problem import Place, Problem, Severity

RULE: Final = "yaml"

_FORBIDDEN: Final = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
STRAY: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What no value may hold, not even by an escape in double quotes: control characters and halves of characters."""

_WIDE_MARKS: Final = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def yaml_problem(place: Place, message: str, hint: str = "", path: str = "") -> Problem:
    """An error of the rule `yaml`."""
    return Problem(Severity.ERROR, RULE, message, hint, path, place)


def text_of(file: str, data: bytes, limit: int) -> str | Problem:
    """The file's text without its byte order mark."""
    if len(data) > limit:
        message = f"the file is larger than {limit / 2**20:.1f} MiB, the most that is read"
        return yaml_problem(Place(file, 1, 1), message, "split the estate into several files of its folder")
    if data.startswith(_WIDE_MARKS):
        return yaml_problem(Place(file, 1, 1), "the file is encoded in UTF-16 or UTF-32, expected UTF-8", "save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _undecodable(file, data, error.start)
    text = text.removeprefix("\ufeff")
    if stray := _FORBIDDEN.search(text):
        return _stray(file, text, stray.start())
    return text


def place_in(file: str, text: str, index: int) -> Place:
    """Line and column of one character of a text."""
    breaks = text.count("\n", 0, index) + text.count("\r", 0, index) - text.count("\r\n", 0, index)
    start = max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1
    return Place(file, breaks + 1, index - start + 1)


def _undecodable(file: str, data: bytes, start: int) -> Problem:
    before = data[:start].decode("utf-8").removeprefix("\ufeff")
    place = place_in(file, before, len(before))
    message = f"byte {start} (0x{data[start]:02x}) is not UTF-8"
    return yaml_problem(place, message, "save the file as UTF-8")


def _stray(file: str, text: str, index: int) -> Problem:
    number = ord(text[index])
    hint = "save the file as UTF-8" if number == 0 else "remove it; inside double quotes an escape such as \\n may stand"
    return yaml_problem(place_in(file, text, index), f"the invisible character U+{number:04X} is not allowed here", hint)
