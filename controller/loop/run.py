"""The loop around the passes: for ever (`run`), or until the rig is as the files say (`apply`)."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass

from controller.errors import StewardError
from controller.loop.step import Loop, Pass
from controller.loop.wakeups import WakeupQueue
from controller.model.problem import has_errors
from controller.model.status import State, Status, Truth
from controller.ports import Clock, Recorder

WORKERS_ONLY = frozenset({"worker"})


@dataclass(slots=True)
class Runner:
    """Runs passes, times them, shows what they left, and waits for the next reason to look."""

    loop: Loop
    wakeups: WakeupQueue
    clock: Clock
    recorder: Recorder

    def once(self, triggers: frozenset[str]) -> Pass:
        """One pass, counted and shown."""
        began = self.clock.now()
        trigger = next(iter(sorted(triggers)), "timer")
        try:
            done = self.loop.step(triggers)
        except Exception:
            self.recorder.passed(trigger, "failed", self.clock.now().mono - began.mono, began)
            raise
        self.recorder.passed(trigger, "done", self.clock.now().mono - began.mono, began)
        self.recorder.show(done.status)
        return done

    def until(self, finished: Callable[[Status], bool], stopping: Callable[[], bool]) -> Status | None:
        """Passes until `finished` holds or `stopping` says so; the last status.

        A pass that fails is said once and tried again after a growing pause: whatever it was, the engines are better off with a
        controller that looks again than with none.
        """
        triggers: frozenset[str] = frozenset({"start"})
        status: Status | None = None
        failures = 0
        while not stopping():
            try:
                done = self.once(triggers)
            except Exception as error:  # noqa: BLE001 - the boundary of the run loop
                failures += 1
                self.loop.speaker.trouble(_sentence(error))
                triggers = self.wakeups.wait(self._pause(failures)) | {"relist"}
                continue
            status, failures = done.status, 0
            if finished(status):
                return status
            triggers = self._wait(done.next_at)
        return status

    def _pause(self, failures: int) -> float:
        bounds = self.loop.bounds
        return float(min(bounds.backoff_cap, bounds.backoff_first * 2 ** min(failures - 1, 30)))

    def _wait(self, until: float) -> frozenset[str]:
        """The next triggers; jobs that end at almost the same time are taken together, so that they cost one pass."""
        triggers = self.wakeups.wait(until - self.clock.now().mono)
        if triggers == WORKERS_ONLY:
            triggers |= self.wakeups.wait(self.loop.bounds.gather)
        return triggers


def _sentence(error: Exception) -> str:
    if isinstance(error, StewardError):
        return str(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{where.filename.rpartition('/')[2]}:{where.lineno}"
    return f"internal error, please report it: {type(error).__name__}: {error} ({place})"


def is_settled(status: Status, only: frozenset[str] = frozenset()) -> bool:
    """Whether nothing is left to do: for the whole rig, or for the named instances."""
    if not only:
        return status.converged
    accepted = bool(status.accepted) and status.desired == status.accepted and not has_errors(status.problems)
    idle = all(step.instance not in only for step in status.plan.steps)
    return accepted and idle and not any(i.state is State.STALLED for i in status.instances if i.name in only)


def is_stuck(status: Status) -> bool:
    """Whether nothing will move without a person: the files are refused, or only stalled instances are left."""
    refused = any(c.type == "ConfigAccepted" and c.status is Truth.FALSE for c in status.conditions)
    stalled = any(c.type == "Stalled" and c.status is Truth.TRUE for i in status.instances for c in i.conditions)
    return refused or (stalled and not status.plan.steps)
