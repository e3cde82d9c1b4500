"""What a rule is: a question about one instance or about all of them, and why it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from controller.model.problem import Severity
from controller.model.verdict import Outcome
from controller.solver.candidate import Candidate, RigView
from controller.solver.tenant import Finding


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rule says where nothing is wrong: what it found in order, or that it had nothing to look at, and why."""

    outcome: Outcome
    text: str


Said: TypeAlias = Finding | Remark


def holds(text: str) -> Remark:
    """The rule looked, and this is what it saw."""
    return Remark(Outcome.HOLDS, text)


def notes(text: str) -> Remark:
    """The rule holds, and there is something to know about it."""
    return Remark(Outcome.NOTES, text)


def skipped(text: str) -> Remark:
    """The rule has nothing to look at here, or lacks what it needs: the text says which."""
    return Remark(Outcome.SKIPPED, text)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `severity` is the gravest that it gives, `evidence` what it rests on, `way_out` what mends most cases.

    Exactly one of the three functions is there: `alone` looks at an instance by itself, `in_rig` at an instance and what it
    stands in, `together` at all instances at once.
    """

    id: str
    title: str
    severity: Severity
    evidence: str
    way_out: str
    alone: Callable[[Candidate], Iterator[Said]] | None = None
    in_rig: Callable[[Candidate, RigView], Iterator[Said]] | None = None
    together: Callable[[RigView], Iterator[Finding]] | None = None

    def about(self, candidate: Candidate, view: RigView) -> tuple[Said, ...]:
        """What the rule says of one instance; nothing for a rule that looks at all of them together."""
        if self.alone is not None:
            return tuple(self.alone(candidate))
        return () if self.in_rig is None else tuple(self.in_rig(candidate, view))
