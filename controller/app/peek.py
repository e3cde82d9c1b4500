"""One look at the rig without being its writer: for `plan`, `status` and `wait` while no controller runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.app.files import FileResolver, source_of
from controller.app.world import Parts, parts_of, reading
from controller.app.writer import writer_pid
from controller.errors import EstateInvalid, StewardError
from controller.model.observed import Container, Observed, Probe, ServePhase
from controller.model.plan import Plan
from controller.model.problem import Problem
from controller.model.reading import Known
from controller.model.resolved import Resolved, Serving
from controller.model.rig import RigFacts
from controller.model.situation import Situation
from controller.model.snapshot import Snapshot
from controller.model.status import Status
from controller.model.track import Memory, Track
from controller.ports import ProbeTarget, Records
from controller.rollout.acceptance import mass_change
from controller.rollout.lifecycle import first_track, live_of, serving_of
from controller.rollout.standing import Outside, standing
from controller.settings import Settings
from reconcilers.rig import RigReconcilers


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen, and what a controller would do now; `writer` is the pid of another Steward that keeps this rig."""

    status: Status
    plan: Plan
    resolved: Resolved
    observed: Observed
    writer: int | None = None


@dataclass(frozen=True, slots=True)
class _Files:
    """What holds: the estate on disk, or the last accepted revision where that one is refused for these problems."""

    resolved: Resolved
    desired: str
    problems: tuple[Problem, ...]
    readable: bool = True


def look(settings: Settings, *, fall_back: bool = False) -> Look:
    """Plan against the engine as it is; raises EstateInvalid for an estate that is refused.

    With `fall_back` the last accepted revision stands in for such an estate, as it does for a controller.
    """
    parts = parts_of(settings)
    with reading(settings) as store:
        eye = _Eye(settings, parts, store, RigReconcilers(parts.world, settings.bounds))
        return eye.look(fall_back=fall_back)


@dataclass(frozen=True, slots=True)
class _Eye:
    settings: Settings
    parts: Parts
    store: Records | None
    reconcilers: RigReconcilers

    def look(self, *, fall_back: bool) -> Look:
        cards = self.reconcilers.cards()
        accepted = self.store.accepted() if self.store else None
        files = self._files(cards, accepted, fall_back=fall_back)
        situation = self._situation(files.resolved, cards)
        plan = self.reconcilers.plan(situation)
        outside = Outside(
            desired=files.desired,
            accepted=accepted.revision if accepted else "",
            source_ok=files.readable,
            problems=files.problems,
            last_actions=self.store.last_actions() if self.store else {},
        )
        writer = writer_pid(self.settings, self.parts, files.resolved.rig.name)
        return Look(standing(situation, plan, outside), plan, files.resolved, situation.observed, writer)

    def _files(self, cards: RigFacts, accepted: Snapshot | None, *, fall_back: bool) -> _Files:
        found = source_of(self.settings).read()
        newest = found if isinstance(found, tuple) else self._judged(found, cards, accepted)
        if isinstance(newest, Resolved):
            return _Files(newest, newest.revision, newest.problems)
        held = self._resolved(accepted, cards, held=True) if fall_back and accepted else newest
        if not isinstance(held, Resolved):
            raise EstateInvalid(held)
        readable = not isinstance(found, tuple)
        return _Files(held, "" if isinstance(found, tuple) else found.revision, newest, readable)

    def _judged(self, snapshot: Snapshot, cards: RigFacts, accepted: Snapshot | None) -> Resolved | tuple[Problem, ...]:
        """The newest revision as a controller would take it: a mass removal is refused too."""
        resolved = self._resolved(snapshot, cards)
        if isinstance(resolved, Resolved) and (accepted is None or accepted.revision != resolved.revision):
            containers = self.reconcilers.containers()
            removal = mass_change(resolved, containers.value) if isinstance(containers, Known) else None
            return (removal,) if removal else resolved
        return resolved

    def _resolved(self, snapshot: Snapshot, cards: RigFacts, *, held: bool = False) -> Resolved | tuple[Problem, ...]:
        bindings = self.store.bindings() if self.store else {}
        resolver = FileResolver(self.settings, self.parts.secrets)
        return resolver.resolve(snapshot, cards, bindings, self.parts.clock.now().wall, held=held)

    def _situation(self, resolved: Resolved, cards: RigFacts) -> Situation:
        now = self.parts.clock.now()
        memory = self.store.memory() if self.store else Memory()
        observed = self.reconcilers.observe(resolved, memory, cards, now)
        situation = Situation(resolved, observed, now, memory=memory)
        situation = replace(situation, observed=replace(observed, probes=self._ask(situation)))
        running = [c for c in observed.ours(resolved.rig.name) if c.running]
        return replace(situation, tracks={c.id: _track(situation, c) for c in running})

    def _ask(self, situation: Situation) -> dict[str, Probe]:
        """Probe each of our running containers once, without a completion."""
        answers = {}
        for container in situation.observed.ours(situation.resolved.rig.name):
            serving = serving_of(situation, container)
            if container.running and serving is not None:
                health = live_of(situation, container).health
                target = ProbeTarget(container.id, serving, health.timeout, health.canary_timeout, False, self._key(serving))
                answers[container.id] = self.parts.probe.probe(target, situation.now)
        return answers

    def _key(self, serving: Serving) -> str:
        """The key to ask with; an engine whose key is gone is asked without, and says so."""
        try:
            return self.parts.secrets.reveal(serving.api_key.secret) if serving.api_key else ""
        except StewardError:
            return ""


def _track(situation: Situation, container: Container) -> Track:
    """Ready when an earlier controller saw its first completion, or when it answers and lists its name now."""
    track, probe = first_track(situation, container), situation.observed.probes.get(container.id)
    answers = probe is not None and probe.phase is ServePhase.SERVING and probe.served is not False
    ready_at = track.ready_at if track.ready_at is not None else (situation.now.mono if answers else None)
    return replace(track, ready_at=ready_at, serving=answers)
