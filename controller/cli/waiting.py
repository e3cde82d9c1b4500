"""What a plan waits for, told to the person who waits too, and when it is clear that waiting alone will not help."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from controller.cli.narrator import Narrator
from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.plan import Action, Step

SPOKEN_S: Final = 3.0
"""A wait that lasts this long is told; shorter ones are the ordinary course."""
NOTHING_MOVES: Final = "nothing moves without a person now; `steward plan` says what is in the way"
_FIGURES: Final = re.compile(r"[0-9]+")


@dataclass(slots=True)
class Waits:
    """Fed with every look at the plan; `patience_s` is how long nothing may move."""

    patience_s: float
    _since: dict[str, float] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _still_since: float | None = None

    def tell(self, steps: Sequence[Step], now: Instant) -> None:
        """Tell the first wait of each instance, once; figures in it change while it is the same wait."""
        first = {step.instance: step for step in reversed(steps) if step.waiting_for}
        waits = {f"{step.id} {_FIGURES.sub('#', step.waiting_for or '')}": step for step in first.values()}
        self._since = {key: self._since.get(key, now.mono) for key in waits}
        for key, step in waits.items():
            if key not in self._told and now.mono - self._since[key] >= SPOKEN_S:
                self._told.add(key)
                Narrator().event(Event(now, "Waiting", f"{step.action} waits for {step.waiting_for}", step.instance))

    def is_over(self, now: Instant, *, moving: bool) -> bool:
        """Whether nothing has moved for too long."""
        self._still_since = None if moving else self._still_since if self._still_since is not None else now.mono
        return self._still_since is not None and now.mono - self._still_since >= self.patience_s


def is_booting(step: Step) -> bool:
    """Whether the step stands for an engine that boots now, however long it takes."""
    return step.action is Action.WAIT_READY and step.waiting_for is not None


def observing(mode: str) -> str:
    """Why a rig that is not in mode `auto` stays as it is."""
    return f"the rig's mode is {mode}: nothing is changed, and `steward plan` shows what would be done"
