"""Carries out the frontier of a plan on the workers' lanes. It decides nothing: the plan has."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from controller.errors import EngineUnreachable, EnvironmentFault, NotFound, SpecFault, StewardError
from controller.model.moment import Instant
from controller.model.plan import Action, Plan, Step
from controller.ports import Finished, Outcome, Reconcilers, Store, Workers

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Result:
    """One ended action: `done`, `fault` (environment), `refused` (spec) or `unknown` (no reply, or an error of ours)."""

    step: Step
    result: str
    message: str
    outcome: Outcome | None = None


@dataclass(slots=True)
class Executor:
    """Keeps which intent belongs to which step in flight."""

    store: Store
    workers: Workers
    reconcilers: Reconcilers
    _open: dict[str, Step] = field(default_factory=dict)

    def run(self, plan: Plan, now: Instant, pass_id: str) -> tuple[Step, ...]:
        """Start every step of the frontier whose lane is free; each intent is on disk before its effect begins."""
        return tuple(step for step in plan.frontier() if self._start(step, now, pass_id))

    def _start(self, step: Step, now: Instant, pass_id: str) -> bool:
        lane = lane_of(step)
        if self.workers.busy(lane):
            return False
        intent = str(self.store.begin(step, now, pass_id))
        self._open[intent] = step
        if self.workers.submit(lane, intent, partial(self.reconcilers.act, step)):
            return True
        del self._open[intent]
        self.store.finish(int(intent), now, "unsent", "no worker was free")
        return False

    def take(self, finished: Finished, now: Instant) -> Result | None:
        """Close the intent of one ended action."""
        step = self._open.pop(finished.key, None)
        if step is None:
            return None
        result = _result(step, finished)
        self.store.finish(int(finished.key), now, result.result, result.message)
        return result

    def in_flight(self) -> tuple[Step, ...]:
        """The steps under way."""
        return tuple(self._open.values())


def lane_of(step: Step) -> str:
    """One lane an instance, and one an image, so that a long pull holds up nobody."""
    return f"pull/{step.target}" if step.action is Action.PULL else f"instance/{step.instance}"


def _result(step: Step, finished: Finished) -> Result:
    error = finished.error
    if error is None:
        outcome = finished.value if isinstance(finished.value, Outcome) else None
        return Result(step, "done", outcome.message if outcome else "", outcome)
    if isinstance(error, SpecFault):
        return Result(step, "refused", str(error))
    if isinstance(error, EngineUnreachable):
        return Result(step, UNKNOWN, str(error))
    if isinstance(error, NotFound):
        return Result(step, UNKNOWN, f"gone meanwhile: {error}")
    if isinstance(error, EnvironmentFault | StewardError):
        return Result(step, "fault", str(error))
    return Result(step, UNKNOWN, f"internal error, please report it: {type(error).__name__}: {error}")
