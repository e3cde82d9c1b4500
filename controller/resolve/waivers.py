"""Rules that an instance may break for a while: its waiver names one that can be waived, and counts until its time is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from controller.model.desired import Waiver
from controller.model.moment import iso
from controller.model.problem import Problem, Severity
from controller.model.verdict import Outcome, Verdict
from controller.resolve.estate import EntrySource
from controller.solver import KNOWN_RULES, NEVER_WAIVED

RULE: Final = "waive"
_GRAVE: Final = frozenset({Severity.ERROR, Severity.WARNING})
_AGAINST: Final = frozenset({Outcome.BROKEN, Outcome.WARNS})


@dataclass(frozen=True, slots=True)
class Waivers:
    """The waivers of one resolution at a moment in Unix seconds; None: their time is not looked at.

    `held`: the revision is in force, and a broken rule is no more than a warning whoever waives it.
    """

    now: float | None = None
    held: bool = False

    def of(self, source: EntrySource, rule: str) -> Waiver | None:
        """The entry's waiver of a rule, while it counts."""
        if rule in NEVER_WAIVED:
            return None
        return next((w for w in source.entry.waive if w.rule == rule and not self._is_over(w)), None)

    def _is_over(self, waiver: Waiver) -> bool:
        return self.now is not None and waiver.until <= self.now

    def lowered(self, source: EntrySource, problem: Problem) -> Problem:
        """The problem of a waived rule as a warning that says so; any other as it is."""
        if problem.severity not in _GRAVE:
            return problem
        waiver = self.of(source, problem.rule)
        if waiver is not None:
            message = f"{problem.message}; waived {waiver_text(waiver)}"
            return replace(problem, severity=Severity.WARNING, message=message, hint="")
        return replace(problem, severity=Severity.WARNING) if self.held and problem.rule in KNOWN_RULES else problem

    def applied(self, source: EntrySource, verdict: Verdict) -> Verdict:
        """The verdict in the light of the entry's waivers."""
        waiver = self.of(source, verdict.rule)
        if waiver is None or verdict.outcome not in _AGAINST:
            return verdict
        return replace(verdict, outcome=Outcome.WARNS, waived=waiver_text(waiver))

    def problems(self, source: EntrySource) -> Iterator[Problem]:
        """Waivers of what is no rule or never waived, and those whose time is over."""
        for position, waiver in enumerate(source.entry.waive):
            path = ("waive", position, "rule")
            if waiver.rule in NEVER_WAIVED:
                hint = f"never waived: {', '.join(sorted(NEVER_WAIVED))}"
                yield source.problem(path, RULE, f"{waiver.rule} cannot be waived", hint)
            elif waiver.rule not in KNOWN_RULES:
                hint = f"rules that can be waived: {', '.join(sorted(KNOWN_RULES - NEVER_WAIVED, key=_by_number))}"
                yield source.problem(path, RULE, f"there is no rule {waiver.rule}", hint)
            elif self._is_over(waiver):
                message = f"the waiver of {waiver.rule} is over since {iso(waiver.until)} and counts no more"
                hint = "remove it, or give it a later time"
                yield source.problem(("waive", position, "until"), RULE, message, hint, Severity.WARNING)

    def next_end(self, sources: Iterable[EntrySource]) -> float | None:
        """When (Unix seconds) the next of the waivers that count ends, so that the rules have to be asked again."""
        return min((w.until for source in sources for w in source.entry.waive if not self._is_over(w)), default=None)


def waiver_text(waiver: Waiver) -> str:
    """Until when, and why."""
    return f"until {iso(waiver.until)}: {waiver.reason}"


def _by_number(rule: str) -> tuple[str, int]:
    return rule[:1], int(rule[1:])
