"""What is wrong with a file, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

DocPath: TypeAlias = tuple[str | int, ...]


class Severity(StrEnum):
    """How much a problem weighs: only an error keeps a revision from being accepted."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """`file:line:column`, the form that editors and terminals turn into a link."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: `path` is the place inside the document (`estate[0].port`), `hint` what to do."""

    severity: Severity
    rule: str
    message: str
    hint: str = ""
    path: str = ""
    place: Place | None = None

    def sort_key(self) -> tuple[object, ...]:
        """Errors first, then by place; what has no place comes last in its severity."""
        place = self.place
        where = (0, place.file, place.line, place.column) if place else (1, "", 0, 0)
        return (_RANK[self.severity], *where, self.path, self.rule, self.message)


def in_report_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Every distinct problem once, in the order in which reports print them."""
    return tuple(sorted(set(problems), key=Problem.sort_key))


def has_errors(problems: Iterable[Problem]) -> bool:
    """Whether any of the problems keeps the revision from being accepted."""
    return any(problem.severity is Severity.ERROR for problem in problems)


def dotted(path: DocPath) -> str:
    """A document path as text: `estate[0].set.max_model_len`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text
