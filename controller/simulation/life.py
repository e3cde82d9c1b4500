"""The life of one scripted run as figures of its age: pure, so that a test may ask for any moment of it.

Ages are seconds of the run's own clock.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from controller.model.log_line import clean_lines
from controller.simulation.engine.script import Script

MIB: Final = 2**20


class Piece(NamedTuple):
    """What is printed at an age; a line is there once its end is printed, as Docker's log has it."""

    at: float
    text: str


Printed = Callable[[Script], Sequence[Piece]]
"""All that a script prints in the order of its ages."""


@dataclass(frozen=True, slots=True)
class Span:
    """From `begin` to `end` the script holds as it is; its changes are spans of their own."""

    begin: float
    end: float
    script: Script


class Life:
    """What a run does at each age. It may be given another script on the way."""

    def __init__(self, script: Script, printed: Printed) -> None:
        """Lay out the script and its changes."""
        self.script = script
        self._printed = printed
        self._said: _Said | None = None
        self._spans = list(_spans(script, 0.0))
        self._lay_out()

    def change(self, age: float, script: Script) -> None:
        """From this age on it does this; what was said and done before stays."""
        self.script = script
        past = [Span(span.begin, min(span.end, age), span.script) for span in self._spans if span.begin < age]
        self._spans = [*past, *_spans(script, age)]
        self._lay_out()

    def at(self, age: float) -> Script:
        """The script as it holds at this age."""
        return self._spans[max(0, bisect_right(self._begins, age) - 1)].script

    @property
    def ends_at(self) -> float:
        """The age at which it ends by itself; infinite for never."""
        return self.first(lambda script: math.inf if script.exits_s is None else script.exits_s)

    def idle_from(self, age: float) -> float:
        """The first age from this one on at which it has no made-up request; infinite for never."""
        return next((max(age, span.begin) for span in self._spans if span.end > age and not span.script.requests), math.inf)

    def lines(self, age: float, *, over: bool = False) -> tuple[str, ...]:
        """All lines by this age; the open one counts when the run is over."""
        if self._said is None:
            self._said = _Said(self._spans, self._printed)
        said = self._said
        return (*said.lines[: bisect_right(said.ages, age)], *(said.open_line(age) if over else ()))

    def loaded(self, until: float) -> Iterator[Span]:
        """The parts of its life by this age in which it had loaded."""
        for span in self._spans:
            begin, end = max(span.begin, self.ready_at), min(span.end, until)
            if begin < end:
                yield Span(begin, end, span.script)

    def first(self, moment: Callable[[Script], float]) -> float:
        """The first age at which the script of that age says that a moment of its own has come; infinite for never."""
        ages = ((span.end, max(span.begin, moment(span.script))) for span in self._spans)
        return next((age for end, age in ages if age < end), math.inf)

    def _lay_out(self) -> None:
        self._begins = [span.begin for span in self._spans]
        self._said = None
        self.ready_at = self.first(ready_at)


class _Said:
    """The lines of all spans, each with the age at which it ended."""

    def __init__(self, spans: Sequence[Span], printed: Printed) -> None:
        pieces = (piece for span in spans for piece in printed(span.script) if span.begin <= piece.at < span.end)
        self._pieces = sorted(pieces, key=lambda piece: piece.at)
        self.lines: list[str] = []
        self.ages: list[float] = []
        rest = ""
        for at, text in self._pieces:
            *whole, rest = (rest + text).split("\n")
            shown = [line for raw in whole for line in clean_lines(raw)]
            self.lines += shown
            self.ages += [at] * len(shown)

    def open_line(self, age: float) -> tuple[str, ...]:
        """What was printed by this age and not ended."""
        return clean_lines("".join(text for at, text in self._pieces if at <= age).rpartition("\n")[2])


def ready_at(script: Script) -> float:
    """The age at which it has loaded; infinite when its load stalls."""
    return math.inf if script.stall_s is not None else script.load_s


def _spans(script: Script, begin: float) -> Iterator[Span]:
    ages = [begin, *sorted({change.at_s for change in script.changes if change.at_s > begin}), math.inf]
    for number, age in enumerate(ages[:-1]):
        yield Span(age, ages[number + 1], script.at(age))
