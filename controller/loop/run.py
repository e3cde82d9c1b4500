"""The loop around the passes: for ever (`run`), or until the rig is as the files say (`apply`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controller.errors import EnvironmentFault
from controller.loop.step import Loop, Pass
from controller.loop.wakeups import WakeupQueue
from controller.model.status import State, Status, Truth
from controller.ports import Clock, Recorder


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
        except EnvironmentFault:
            self.recorder.passed(trigger, "failed", self.clock.now().mono - began.mono, began)
            raise
        self.recorder.passed(trigger, "done", self.clock.now().mono - began.mono, began)
        self.recorder.show(done.status)
        return done

    def until(self, finished: Callable[[Status], bool], stopping: Callable[[], bool]) -> Status | None:
        """Passes until `finished` holds or `stopping` says so; the last status."""
        triggers: frozenset[str] = frozenset({"start"})
        status: Status | None = None
        while not stopping():
            try:
                done = self.once(triggers)
            except EnvironmentFault as fault:
                self.loop.speaker.trouble(str(fault))
                triggers = self.wakeups.wait(self.loop.bounds.backoff_first) | {"relist"}
                continue
            status = done.status
            if finished(status):
                return status
            triggers = self.wakeups.wait(done.next_at - self.clock.now().mono)
        return status


def is_settled(status: Status, only: frozenset[str] = frozenset()) -> bool:
    """Whether nothing is left to do: for the whole rig, or for the named instances."""
    if not only:
        return status.converged
    accepted = bool(status.accepted) and status.desired == status.accepted
    idle = all(step.instance not in only for step in status.plan.steps)
    return accepted and idle and not any(i.state is State.STALLED for i in status.instances if i.name in only)


def is_stuck(status: Status) -> bool:
    """Whether nothing will move without a person: the files are refused, or only stalled instances are left."""
    refused = any(c.type == "ConfigAccepted" and c.status is Truth.FALSE for c in status.conditions)
    stalled = any(c.type == "Stalled" and c.status is Truth.TRUE for i in status.instances for c in i.conditions)
    return refused or (stalled and not status.plan.steps)
