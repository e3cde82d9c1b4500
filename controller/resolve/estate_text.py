"""Estates written as YAML, for people to read, to change and to save: each entry over several lines, with its comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from controller.model.document import Plain, scalar_text

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_/.+@-]*(?::[A-Za-z0-9_/.+@-]+)*")
"""Texts that need no quotes, unless YAML takes them for something else."""
_TAKEN: Final = re.compile(r"(?:true|false|yes|no|on|off|null|y|n|\.inf|\.nan)", re.IGNORECASE)
_BLOCKS: Final = ("set", "env")
"""Keys whose values stand on lines of their own."""
_WIDTH: Final = 118


@dataclass(frozen=True, slots=True)
class EntryText:
    """One entry: `keys` in their order, and `comments` above keys, such as `compose` or `set.max_model_len`."""

    keys: Mapping[str, Plain]
    comments: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EstateText:
    """A whole file: `head` are comments at its top, `header` what stands before the entries."""

    entries: Sequence[EntryText]
    head: Sequence[str] = ()
    header: Mapping[str, Plain] = field(default_factory=dict)
    comments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Above keys of the header."""


def estate_yaml(estate: EstateText) -> str:
    """The file."""
    lines = [line for text in estate.head for line in _comment(text, "")]
    for key, value in estate.header.items():
        lines += [line for text in estate.comments.get(key, ()) for line in _comment(text, "")]
        lines.append(f"{key}: {flow(value)}")
    return "\n".join([*lines, *(["", ""] if lines else [""])]).lstrip("\n") + entries_yaml(estate.entries)


def entries_yaml(entries: Sequence[EntryText]) -> str:
    """The key `estate` with its list."""
    if not entries:
        return "estate: []\n"
    return "estate:\n" + "\n".join("".join(f"{line}\n" for line in _entry(entry)) for entry in entries)


def _entry(entry: EntryText) -> Iterator[str]:
    lines = list(_keys(entry))
    first = next(position for position, line in enumerate(lines) if not line.lstrip().startswith("#"))
    for position, line in enumerate(lines):
        yield f"  - {line[4:]}" if position == first else line


def _keys(entry: EntryText) -> Iterator[str]:
    for key, value in entry.keys.items():
        yield from (line for text in entry.comments.get(key, ()) for line in _comment(text, "    "))
        if key in _BLOCKS and isinstance(value, dict):
            yield f"    {key}:"
            for name, inner in value.items():
                above = entry.comments.get(f"{key}.{name}", ())
                yield from (line for text in above for line in _comment(text, "      "))
                yield f"      {flow(name)}: {flow(inner)}"
        else:
            yield f"    {key}: {flow(value)}"


def _comment(text: str, indent: str) -> Iterator[str]:
    """Lines of a comment, none much wider than a page."""
    line = ""
    for word in text.split():
        if line and len(indent) + len(line) + len(word) + 3 > _WIDTH:
            yield f"{indent}# {line}"
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield f"{indent}# {line}"


def flow(value: Plain) -> str:
    """A value on one line, which YAML reads as the same value."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and not _TAKEN.fullmatch(value) else _quoted(value)
    return scalar_text(value)


def _quoted(text: str) -> str:
    """In single quotes where the text has double ones, else in those of JSON, with numbers for what cannot be seen."""
    if '"' in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    written = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in written)
