"""A plan under construction: steps are added, and the earliest time at which a wait may end by itself is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from controller.model.plan import Action, Plan, Step

ORDER: Final = {
    Action.PULL: 0,
    Action.CREATE: 1,
    Action.RENAME: 2,
    Action.UPDATE: 2,
    Action.UNPAUSE: 2,
    Action.SET_POWER_LIMIT: 2,
    Action.DRAIN: 3,
    Action.STOP: 4,
    Action.WAIT_VRAM: 5,
    Action.START: 6,
    Action.WAIT_READY: 7,
    Action.REMOVE: 8,
    Action.PRUNE: 9,
}
"""Everything that can fail comes before the stops, stops before starts, prune last."""


@dataclass(slots=True)
class Draft:
    """Collects what the planners of the kinds propose."""

    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    look_again_at: float | None = None

    def add(self, step: Step) -> str:
        """Add a step; its id, for the `after` of others."""
        self.steps.append(step)
        return step.id

    def until(self, at: float) -> None:
        """Something may change at this monotonic time without an event."""
        self.look_again_at = at if self.look_again_at is None else min(self.look_again_at, at)

    def stop_of(self, container: str) -> str | None:
        """The id of the planned stop of a container."""
        return next((s.id for s in self.steps if s.action is Action.STOP and s.target == container), None)

    def replace(self, changed: Iterable[Step]) -> None:
        """Put changed steps in the place of those with the same ids."""
        new = {step.id: step for step in changed}
        self.steps = [new.get(step.id, step) for step in self.steps]

    def plan(self) -> Plan:
        """The finished plan in its stable order; `after` keeps only steps that are in it."""
        known = {step.id for step in self.steps}
        ordered = sorted(self.steps, key=lambda step: ORDER[step.action])
        steps = tuple(replace(step, after=tuple(a for a in step.after if a in known)) for step in ordered)
        return Plan(steps, tuple(self.notes), self.look_again_at)


def held(step: Step, reason: str) -> Step:
    """The step, waiting for one more thing; the first reason stays."""
    return step if step.waiting_for else replace(step, waiting_for=reason)
