"""How a dialect reads boot logs: phases in order, failures as a table of phrases, and never a generic tail as the reason.

Engines put prefixes before their lines (`(EngineCore pid=12) ERROR 01-02 ...`), draw progress bars with carriage returns and
colour what they print, so that a phrase is searched anywhere in a line. The cause of a failure usually stands well above the
last line, which only says that something failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from controller.dialects.dialect import Diagnosis
from controller.model.track import FaultClass

MAX_LINE: Final = 2000
MAX_SAID: Final = 300
"""Characters of an engine's own words that a message keeps."""

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EXCEPTION: Final = re.compile(r"(?:^|[\s(\]])(?P<said>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): \S.*|Value error, .*)")


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a boot, known by a phrase that its lines have."""

    name: str
    phrase: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Failure:
    """A known failure. `message` is filled from the named groups of `phrase`.

    `advice` holds the engine's own figures and is added when `detail` is found anywhere in the log: engines print them in the
    same line, in the next one, or not at all.
    """

    reason: str
    phrase: re.Pattern[str]
    message: str
    fault: FaultClass
    detail: re.Pattern[str] | None = None
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Tables:
    """What one dialect knows about failures. `causes` come most telling first; `common` count by how late they stand."""

    causes: tuple[Failure, ...] = ()
    common: tuple[Failure, ...] = ()
    tails: tuple[Failure, ...] = ()
    """Generic last lines: the reason only when there is no other one."""
    banner: re.Pattern[str] | None = None
    """The first line of a boot, because a container that was started again has the older boots in its log too."""
    plain: re.Pattern[str] = field(default=_EXCEPTION)
    """An error that no table knows, with the group `said`."""


def last_phase(phases: Sequence[Phase], lines: Sequence[str]) -> str:
    """The phase of the last line that belongs to one; empty when none does."""
    for line in reversed(tuple(_clean(lines))):
        for phase in phases:
            if phase.phrase.search(line):
                return phase.name
    return ""


def diagnosis(tables: Tables, lines: Sequence[str]) -> Diagnosis | None:
    """The reason of the newest boot in the log, else of the whole log, else what its generic tail stands for."""
    whole = tuple(_clean(lines))
    newest = _newest_boot(tables.banner, whole)
    return _cause(tables, newest) or _cause(tables, whole) or _by_rank(tables.tails, whole)


def _cause(tables: Tables, lines: Sequence[str]) -> Diagnosis | None:
    return _by_rank(tables.causes, lines) or _by_place(tables, lines)


def _by_rank(failures: Iterable[Failure], lines: Sequence[str]) -> Diagnosis | None:
    """The first failure of the table that the log has, at its last occurrence."""
    for failure in failures:
        for line in reversed(lines):
            if match := failure.phrase.search(line):
                return _told(failure, match, lines)
    return None


def _by_place(tables: Tables, lines: Sequence[str]) -> Diagnosis | None:
    """The last line that has a common failure or an unknown error; generic tails are passed over."""
    for line in reversed(lines):
        for failure in tables.common:
            if match := failure.phrase.search(line):
                return _told(failure, match, lines)
        unknown = tables.plain.search(line)
        if unknown and not any(tail.phrase.search(line) for tail in tables.tails):
            return Diagnosis("EngineError", _cut(unknown["said"]), FaultClass.DETERMINISTIC)
    return None


def _told(failure: Failure, match: re.Match[str], lines: Sequence[str]) -> Diagnosis:
    message = failure.message.format(**_groups(match))
    if failure.detail is not None and (found := _last_match(failure.detail, lines)):
        message += "; " + failure.advice.format(**_groups(found))
    return Diagnosis(failure.reason, message, failure.fault)


def _groups(match: re.Match[str]) -> Mapping[str, str]:
    return {name: _cut(text) for name, text in match.groupdict("").items()}


def _last_match(phrase: re.Pattern[str], lines: Sequence[str]) -> re.Match[str] | None:
    return next((match for line in reversed(lines) if (match := phrase.search(line))), None)


def _cut(text: str) -> str:
    plain = " ".join(text.split()).rstrip(".")
    return plain if len(plain) <= MAX_SAID else plain[: MAX_SAID - 3] + "..."


def _newest_boot(banner: re.Pattern[str] | None, lines: Sequence[str]) -> Sequence[str]:
    if banner is None:
        return lines
    starts = [number for number, line in enumerate(lines) if banner.search(line)]
    return lines[starts[-1] :] if starts else lines


def _clean(lines: Iterable[str]) -> Iterator[str]:
    """The lines as a terminal would show them: no colours, each state of a progress bar on its own."""
    for line in lines:
        for part in _COLOUR.sub("", line).split("\r"):
            if plain := part.strip():
                yield plain[:MAX_LINE]
