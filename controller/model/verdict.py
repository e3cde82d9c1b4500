"""What a rule of the solver has to say about one instance, also when it has nothing against it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """`skipped`: the rule has nothing to look at here, or something that it needs is not known; the text says which."""

    HOLDS = "holds"
    BROKEN = "broken"
    WARNS = "warns"
    NOTES = "notes"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule about one instance; `waived` says until when and why the waiver holds that makes a broken one a warning."""

    rule: str
    instance: str
    outcome: Outcome
    text: str = ""
    waived: str = ""

    @property
    def is_against(self) -> bool:
        """Whether the rule is broken, or warns."""
        return self.outcome in (Outcome.BROKEN, Outcome.WARNS)

    @property
    def reason(self) -> str:
        """The text, and the waiver behind it."""
        return self.text + (f"; waived {self.waived}" if self.waived else "")

    def __str__(self) -> str:
        """`C12: why, waived until ...`."""
        return f"{self.rule}: {self.reason}"
