"""The parser's complaints in words that tell the author of the file what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import yaml

from controller.model.problem import Place, Problem
from controller.sources.yaml_text import yaml_problem


class Mark(Protocol):
    """A position as the parser gives it; both count from 0."""

    @property
    def line(self) -> int:
        """The line."""
        ...

    @property
    def column(self) -> int:
        """The character in the line."""
        ...


@dataclass(frozen=True, slots=True)
class _Saying:
    """`message` may use {line}, where the enclosing structure begins; `at_context` places the problem there."""

    needles: tuple[str, ...]
    message: str
    hint: str
    at_context: bool = False


_TAB: Final = _Saying((), "a tab stands where only spaces may stand", "indent with spaces")
_QUOTE_IT: Final = "put text that begins with this character in quotes"
_SAYINGS: Final = (
    _Saying(
        ("end of stream", "document indicator", "document separator"),
        "the quote that opens here is never closed",
        "close it",
        True,
    ),
    _Saying(
        ("values are not allowed",),
        "a `:` stands where no key can be",
        "check the indentation of this line; text that contains `: ` must be quoted",
    ),
    _Saying(
        ("entries are not allowed",),
        "a list item (`- `) cannot begin here",
        "begin the list on a line of its own below its key, or write [a, b]",
    ),
    _Saying(("mapping keys are not allowed",), "a `? ` cannot begin a key here", "put text that begins with ? in quotes"),
    _Saying(("unexpected ':'",), "a `:` stands where no value can begin", "put a space after the `:` of a key"),
    _Saying(("could not find expected ':'",), "expected `key: value`, found a text without `:`", "add the value", True),
    _Saying(
        ("flow sequence", "flow mapping"),
        "the bracket that opens here is not closed, or a comma is missing",
        "close it, and put commas between the values",
        True,
    ),
    _Saying(
        ("block mapping",),
        "this does not fit the mapping that begins on line {line}",
        "indent each key of a mapping the same; put the whole of a text in quotes, not a part",
    ),
    _Saying(
        ("block collection", "block sequence"),
        "this does not fit the list that begins on line {line}",
        "begin each item of a list with `- ` and the same indentation",
    ),
    _Saying(
        ("escape", "hexdecimal", "hexadecimal"),
        "unknown escape in a text in double quotes",
        "write \\\\ for a backslash, or use single quotes",
    ),
    _Saying(("alias", "anchor"), "a name is expected after `*` or `&`", "put text that begins with * or & in quotes"),
    _Saying(("tag",), "tags (words that begin with `!`) are not used here", "put text that begins with ! in quotes"),
    _Saying(
        ("block scalar",), "only an indentation digit, `-` or `+` may follow `|` or `>`", "begin the text on the next line"
    ),
    _Saying(("document start",), "nothing may follow the end of the document", "remove it, or check the indentation"),
    _Saying(("node content",), "a value is expected here", "write one, or put text that begins with this character in quotes"),
    _Saying(("nesting depth",), "values nest far too deep", "write it flatter"),
    _Saying(("incompatible", "directive"), "this `%` line is not understood", "remove it"),
)


def place_of(mark: Mark, end: Place) -> Place:
    """The parser counts the end of a last line without a line break as a line of its own; we do not."""
    return Place(end.file, mark.line + 1, mark.column + 1) if mark.line < end.line else end


def syntax_problem(text: str, error: Exception, end: Place) -> Problem:
    """The one place where the text stops being YAML; `end` is where the text ends."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return yaml_problem(Place(end.file, 1, 1), "the file is not YAML", "look at the escapes in double quotes")
    problem: Mark | None = error.problem_mark
    context: Mark | None = error.context_mark
    mark = problem or context
    if mark is None:
        return yaml_problem(Place(end.file, 1, 1), f"this is not YAML: {error.problem}")
    saying = _saying(text, error, mark)
    at = context if saying.at_context and context is not None else mark
    line = (context or mark).line + 1
    return yaml_problem(place_of(at, end), saying.message.replace("{line}", str(line)), saying.hint)


def _saying(text: str, error: yaml.MarkedYAMLError, mark: Mark) -> _Saying:
    character = _character_at(text, mark)
    said = f"{error.context or ''}: {error.problem or ''}"
    if character == "\t" or "tab character" in said:
        return _TAB
    if "cannot start any token" in said:
        return _Saying((), f"no value can begin with {character!r}", _QUOTE_IT)
    for saying in _SAYINGS:
        if any(needle in said for needle in saying.needles):
            return saying
    return _Saying((), f"this is not YAML: {error.problem}", "check the quotes and the indentation")


def _character_at(text: str, mark: Mark) -> str:
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    return line[mark.column : mark.column + 1]
