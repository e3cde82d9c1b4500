"""What a program printed as lines that are safe to show: whatever a terminal would obey is gone, and no line is endless."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LINE_CHARACTERS: Final = 2000
"""Longer lines are cut: engines print whole prompts in one."""
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_HIDDEN_KINDS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def clean_lines(text: str) -> tuple[str, ...]:
    """The lines that show something; a carriage return ends one, too, so that a progress bar becomes lines."""
    return tuple(line for raw in re.split(r"[\r\n]+", text) if (line := clean_line(raw)))


def clean_line(text: str) -> str:
    """One line without escape sequences, control and invisible characters, in a length that can be shown."""
    visible = _ESCAPE.sub("", text).replace("\t", "    ")
    return "".join(char for char in visible if unicodedata.category(char) not in _HIDDEN_KINDS).rstrip()[:LINE_CHARACTERS]
