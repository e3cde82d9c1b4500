"""A controller of one command's length: it works until the rig is as it should be, or nothing can move without a person."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from controller.app.live import Controller
from controller.cli.output import has_color, print_text, tell, width
from controller.cli.waiting import NOTHING_MOVES, Waits, is_booting, observing
from controller.errors import StewardError
from controller.loop.run import is_settled
from controller.model.moment import Instant
from controller.model.plan import Step
from controller.model.problem import has_errors
from controller.model.status import State, Status

BLOCKED_S: Final = 15.0
"""A plan in which every step waited this long for something outside is given up on; a restart of Docker takes less."""


MEMORY_S: Final = 60.0
"""How long memory of a card may take to come back before that counts as standing still; an engine's release takes less."""


LATE_S: Final = 1.0
"""A change that time brings shows at the latest in the pass after it."""


class Goal(Enum):
    """What a verb wants: the files in force and the rig like them, or some instances started or stopped whatever they say."""

    FILES = auto()
    STARTED = auto()
    STOPPED = auto()


@dataclass(slots=True)
class Convergence:
    """Follows the passes of a controller; `only` names the instances that matter (empty: all); `ends` in monotonic seconds."""

    controller: Controller
    goal: Goal
    only: frozenset[str]
    ends: float
    _verdict: str = ""
    _waits: Waits = field(default_factory=lambda: Waits(BLOCKED_S))
    _before: list[Step] = field(default_factory=list)
    _memory_since: float | None = None
    """When (monotonic) a start began to wait for memory of its cards."""
    _promised: float = 0.0
    """When (monotonic) time alone would change the steps that stand in `_before`."""

    def run(self) -> int:
        """Work; print the rig as it stands at the end; 0 when the goal is reached."""
        status = self.controller.runner.until(self.is_over, lambda: self._now().mono >= self.ends)
        if status is None:
            raise StewardError("the time was over before the rig could be looked at")
        reached = self._is_reached(status)
        if not reached and not self._verdict and self._now().mono >= self.ends:
            self._verdict = "the time is over; `steward status` and `steward plan` show what is left"
        self._conclude(status)
        return 0 if reached else 1

    def is_over(self, status: Status) -> bool:
        """Whether to stop after this pass; every engine is asked how it is before that, so that the end tells the truth."""
        return self._is_decided(status) and self.controller.has_asked(status)

    def _is_decided(self, status: Status) -> bool:
        steps = self._steps(status)
        if self._is_reached(status):
            return not self.controller.is_acting()
        if self._is_refused(status) or (not steps and self._is_stalled(status)):
            return True
        if steps and status.mode != "auto":
            self._verdict = observing(status.mode)
            return True
        self._waits.tell(steps, self._now())
        over = self._waits.is_over(self._now(), moving=self._is_moving(status, steps))
        self._verdict = NOTHING_MOVES if over else ""
        return over

    def _is_moving(self, status: Status, steps: list[Step]) -> bool:
        """Whether the plan goes on by itself: an action runs or may begin, an engine boots, or time will change the plan."""
        if steps != self._before:
            self._before, self._promised = steps, status.plan.look_again_at or 0.0
        in_time = self._now().mono <= self._promised + LATE_S and self._promised < self.ends
        ready = {step.id for step in status.plan.frontier()}
        going = any(step.id in ready or is_booting(step) for step in steps)
        return self.controller.is_acting() or in_time or self._may_release(steps) or going

    def _may_release(self, steps: list[Step]) -> bool:
        """Whether memory that a start waits for may still come back by itself."""
        waits = any(step.waits_for_memory for step in steps)
        self._memory_since = (self._memory_since or self._now().mono) if waits else None
        return self._memory_since is not None and self._now().mono - self._memory_since < MEMORY_S

    def _is_reached(self, status: Status) -> bool:
        if self.goal is Goal.FILES:
            return is_settled(status, self.only)
        left = self._steps(status) or (self.goal is Goal.STARTED and self._is_stalled(status))
        return bool(status.accepted) and not left

    def _steps(self, status: Status) -> list[Step]:
        return [step for step in status.plan.steps if not self.only or step.instance in self.only]

    def _is_refused(self, status: Status) -> bool:
        return self.goal is Goal.FILES and has_errors(status.problems)

    def _is_stalled(self, status: Status) -> bool:
        return any(i.state is State.STALLED for i in status.instances if not self.only or i.name in self.only)

    def _conclude(self, status: Status) -> None:
        """The problems of a refused estate and the verdict on stderr, then the rig on stdout."""
        from observability.text import problems_text, status_text

        if self._is_refused(status):
            tell(problems_text(status.problems, color=has_color(sys.stderr)))
        if self._verdict:
            tell(f"steward: {self._verdict}")
        print_text(status_text(status, width=width(), color=has_color(), verbose=False))

    def _now(self) -> Instant:
        return self.controller.parts.clock.now()
