"""One pass: collect, read, judge, observe, fold, plan, act, ask, show. It never sleeps and it is the only writer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from controller.loop.commands import CommandQueue
from controller.loop.desire import Desire
from controller.loop.execute import Executor
from controller.loop.inspecting import LANE as INSPECTION
from controller.loop.inspecting import Inspector
from controller.loop.probing import LANE, Prober
from controller.loop.recall import Recall
from controller.loop.say import Speaker
from controller.loop.verbs import carry_out
from controller.model.desired import Mode
from controller.model.moment import Instant
from controller.model.observed import Observed
from controller.model.plan import Action, Plan
from controller.model.reading import Known, Unknown
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.model.situation import Situation
from controller.model.status import Status
from controller.ports import Clock, Finished, Reconcilers, Store, Workers
from controller.rollout.lifecycle import advance, note_drains
from controller.rollout.standing import Outside, standing, standing_without
from controller.settings import Bounds

LOOK_NOW: Final = frozenset({"start", "event", "action", "command", "relist"})
"""Triggers after which the engine is observed anew; others reuse the last observation."""


@dataclass(slots=True)
class Pass:
    """What one pass left behind: the status, and when (monotonic seconds) the next one is due at the latest."""

    status: Status
    next_at: float
    acted: int = 0


@dataclass(slots=True)
class Loop:
    """Holds the collaborators and what passes from one pass to the next."""

    clock: Clock
    store: Store
    workers: Workers
    reconcilers: Reconcilers
    desire: Desire
    recall: Recall
    executor: Executor
    prober: Prober
    inspector: Inspector
    speaker: Speaker
    commands: CommandQueue
    bounds: Bounds
    only: frozenset[str] = frozenset()
    """The instances to act on; empty for all."""
    acting: bool = True
    """False while a pass should only look."""
    observed: Observed | None = None
    cards: RigFacts = RigFacts(Unknown("not read yet"))
    _looked_at: float | None = None
    _read_at: float | None = None
    _number: int = 0
    _history_lost: bool = False
    _settle: float | None = None
    _waits_for_memory: bool = False
    """Whether a start of the last plan does, so that the cards are looked at more often."""

    def step(self, triggers: frozenset[str]) -> Pass:
        """Run one pass for these triggers."""
        now = self.clock.now()
        self._number += 1
        pass_id = f"{int(now.wall)}-{self._number}"
        self.speaker.begin(now, pass_id)
        triggers |= self._collect(now)
        if self.commands.answer_all(lambda command: carry_out(command, self, now)):
            triggers |= {"command"}
        self._read(triggers, now)
        first, unheard = self._looked_at is None, self.desire.accepted is None
        look = bool(triggers & LOOK_NOW) or now.mono >= self._look_at()
        if look:
            self.cards = self.reconcilers.cards()
        look |= self._judge(now)
        resolved = self.desire.in_force(self.cards, now)
        if not isinstance(resolved, Resolved):
            return self._nothing_in_force(now)
        if look or self.observed is None:
            self.recall.keep_specs(resolved)
            self.observed = self.reconcilers.observe(resolved, self.recall.memory(), self.cards, now)
            self._looked_at = now.mono
            self._history_lost |= first and unheard and bool(self.observed.ours(resolved.rig.name))
        return self._act(resolved, self.observed, now, pass_id)

    def _act(self, resolved: Resolved, observed: Observed, now: Instant, pass_id: str) -> Pass:
        self.recall.keep_specs(resolved)
        observed = replace(observed, probes=self.prober.answers())
        situation = self._fold(Situation(resolved, observed, now, self.recall.tracks, self.recall.memory()))
        plan = self.reconcilers.plan(situation)
        self._waits_for_memory = any(step.waits_for_memory for step in plan.steps)
        permitted = self._permitted(plan, resolved)
        draining = frozenset(s.target for s in permitted.steps if s.action is Action.DRAIN and s.begun)
        self.recall.tracks = note_drains(self.recall.tracks, draining, now)
        self.recall.prune_backoffs(frozenset(step.id for step in plan.steps))
        situation = replace(situation, tracks=self.recall.tracks)
        started = self.executor.run(permitted, now, pass_id)
        for step in started:
            self.recall.changed()
            self.speaker.starting(step)
        due = (self.prober.schedule(situation), self.inspector.schedule(situation))
        status = standing(situation, plan, self._outside())
        return Pass(status, self._next_at(plan, due, now), len(started))

    def _permitted(self, plan: Plan, resolved: Resolved) -> Plan:
        """The part of the plan that may be carried out: nothing in observe mode, the named instances under --only."""
        if not self.acting or resolved.rig.mode is not Mode.AUTO:
            return Plan()
        if not self.only:
            return plan
        return replace(plan, steps=tuple(step for step in plan.steps if step.instance in self.only))

    def _collect(self, now: Instant) -> frozenset[str]:
        triggers: set[str] = set()
        for finished in self.workers.collect():
            if finished.lane.startswith(LANE):
                self.prober.take(finished)
            elif finished.lane.startswith(INSPECTION):
                self._seen(finished, now)
            else:
                self._ended(finished, now)
                triggers.add("action")
        return frozenset(triggers)

    def _seen(self, finished: Finished, now: Instant) -> None:
        for sighting in self.inspector.take(finished, now):
            self.recall.saw(sighting)
            self.speaker.sighting(sighting)

    def _ended(self, finished: Finished, now: Instant) -> None:
        result = self.executor.take(finished, now)
        if result is None:
            return
        self.recall.ended(result, now)
        self.speaker.action(result)

    def _read(self, triggers: frozenset[str], now: Instant) -> None:
        """Read the source when it is time: at the poll, or `settle` after the last file event."""
        if "file" in triggers:
            self._settle = now.mono + self.bounds.settle
        settled = self._settle is not None and now.mono >= self._settle
        polled = self._read_at is None or now.mono - self._read_at >= self.bounds.poll
        if not (settled or polled or "command" in triggers):
            return
        self._settle, self._read_at = (None if settled else self._settle), now.mono
        self.speaker.source(self.desire.read(now))

    def _judge(self, now: Instant) -> bool:
        """Accept or refuse what was read, once for each revision; whether another one is in force, which asks for new looks."""
        if not self.desire.has_news(now):
            return False
        change = self.desire.judge(self.cards, self.reconcilers.containers(), now)
        if change.kind == "accepted":
            self.recall.changed()
        self.speaker.change(change)
        return change.kind == "accepted"

    def _fold(self, situation: Situation) -> Situation:
        fold = advance(situation, self.bounds.restart_reset)
        self.recall.tracks, self.recall.off_since = dict(fold.tracks), dict(fold.off_since)
        for verdict in fold.verdicts:
            self.recall.record(verdict)
            self.speaker.verdict(verdict)
        self.recall.settle_restarts(situation.resolved, situation.now)
        return replace(situation, tracks=self.recall.tracks, memory=self.recall.memory())

    def _outside(self) -> Outside:
        desire = self.desire
        return Outside(
            desired=desire.snapshot.revision if desire.snapshot else "",
            accepted=desire.accepted.revision if desire.accepted else "",
            source_ok=desire.source_ok,
            problems=desire.problems,
            history_lost=self._history_lost,
            last_actions=self.recall.last_actions(),
            in_flight=self.executor.in_flight(),
            progress=self.reconcilers.progress(),
        )

    def _look_at(self) -> float:
        """When the engine is observed anew, whatever the triggers are."""
        if self._looked_at is None:
            return 0.0
        booting = any(track.ready_at is None for track in self.recall.tracks.values())
        soon = booting or self._waits_for_memory
        return self._looked_at + (self.bounds.booting_relist if soon else self.bounds.relist)

    def _nothing_in_force(self, now: Instant) -> Pass:
        cards = self.cards.cards.value if isinstance(self.cards.cards, Known) else ()
        status = standing_without(now, self._outside(), cards)
        return Pass(status, now.mono + self.bounds.poll)

    def _believed_at(self, now: Instant) -> float | None:
        at = self.desire.believed_at
        return at if self.desire.has_news(now) and at > now.mono else None

    def _next_at(self, plan: Plan, due: tuple[float | None, ...], now: Instant) -> float:
        times = [
            now.mono + self.bounds.poll,
            (self._read_at or now.mono) + self.bounds.poll,
            self._look_at(),
            *[at for at in (*due, plan.look_again_at, self._settle, self._believed_at(now)) if at is not None],
        ]
        return max(now.mono, min(times))
