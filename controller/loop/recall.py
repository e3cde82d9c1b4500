"""The planner's memory: what the store keeps, joined with what lives only as long as this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from controller.loop.backoff import next_backoff
from controller.loop.execute import Result
from controller.model.moment import Instant
from controller.model.plan import Action, Step
from controller.model.resolved import Resolved, ResolvedInstance
from controller.model.track import Backoff, Failure, FaultClass, Memory, Sighting, Track, Verdict
from controller.ports import Store
from controller.settings import Bounds


@dataclass(slots=True)
class Recall:
    """Writes what happened into the store and gives it back as one Memory."""

    store: Store
    bounds: Bounds
    tracks: dict[str, Track] = field(default_factory=dict)
    off_since: dict[str, float] = field(default_factory=dict)
    _backoffs: dict[str, Backoff] = field(default_factory=dict)
    _last_start: float | None = None
    _kept: Memory | None = None
    _specs: set[tuple[str, str]] = field(default_factory=set)
    _actions: Mapping[str, tuple[str, str, float]] | None = None

    def memory(self) -> Memory:
        """Everything that a plan may know of the past."""
        if self._kept is None:
            self._kept = self.store.memory()
        return replace(
            self._kept,
            off_since=dict(self.off_since),
            backoffs=dict(self._backoffs),
            last_start=self._last_start,
        )

    def changed(self) -> None:
        """The store was written to: read it again before the next plan."""
        self._kept = self._actions = None

    def last_actions(self) -> Mapping[str, tuple[str, str, float]]:
        """Per instance the latest finished action, its cause and its Unix time."""
        if self._actions is None:
            self._actions = self.store.last_actions()
        return self._actions

    def ended(self, result: Result, now: Instant) -> None:
        """An action is over."""
        step = result.step
        self.changed()
        if result.result == "done":
            self._backoffs.pop(step.id, None)
            self._done(step, result, now)
        elif result.result == "refused":
            self._refused(result, now)
        else:
            before = self._backoffs.get(step.id)
            self._backoffs[step.id] = next_backoff(before, step.id, result.message, now.mono, self.bounds)

    def _done(self, step: Step, result: Result, now: Instant) -> None:
        if step.action is Action.CREATE and result.outcome and result.outcome.image_id:
            self.store.pin_image(step.instance, step.spec_hash, result.outcome.image_id)
        if step.action is Action.START:
            self._last_start = now.mono
            self.tracks[step.target] = Track(step.target, now.mono, now.mono, step.instance)

    def _refused(self, result: Result, now: Instant) -> None:
        step = result.step
        if step.action in (Action.CREATE, Action.START):
            reason = f"{step.action.value.capitalize()}Refused"
            fault = FaultClass.DETERMINISTIC
            self.store.record_failure(
                Failure(step.instance, step.spec_hash, step.target, reason, result.message, fault, now.wall)
            )
        else:
            before = self._backoffs.get(step.id)
            self._backoffs[step.id] = next_backoff(before, step.id, result.message, now.mono, self.bounds)

    def record(self, verdict: Verdict) -> None:
        """Keep what the fold concluded."""
        self.changed()
        if verdict.kind == "ready":
            track = self.tracks.get(verdict.container)
            boot_s = (track.ready_at or track.began) - track.began if track else 0.0
            self.store.mark_ready(verdict.container, verdict.instance, verdict.spec_hash, verdict.at.wall, boot_s)
        elif verdict.kind == "boot-failed" and verdict.failure:
            self.store.record_failure(verdict.failure)
        elif verdict.kind == "exited" and verdict.restarts:
            self.store.record_restart(verdict.instance, verdict.restarts)

    def saw(self, sighting: Sighting) -> None:
        """Keep whether an overlay is at work."""
        self.changed()
        self.store.record_sighting(sighting)

    def keep_specs(self, resolved: Resolved) -> None:
        """Remember how to ask each spec and what it was made of, once for each spec hash."""
        fresh = [i for i in resolved.instances if i.bound and (i.name, i.spec_hash) not in self._specs]
        memory = self.memory() if fresh else Memory()
        for instance in fresh:
            self._keep(instance, memory)
            self._specs.add((instance.name, instance.spec_hash))

    def _keep(self, instance: ResolvedInstance, memory: Memory) -> None:
        fields = instance.spec_fields()
        key = (instance.name, instance.spec_hash)
        if memory.servings.get(key) != instance.serving:
            self.store.record_serving(instance.name, instance.spec_hash, instance.serving)
            self.changed()
        if memory.fields.get(key) != fields:
            self.store.record_fields(instance.name, instance.spec_hash, fields)
            self.changed()

    def settle_restarts(self, resolved: Resolved, now: Instant) -> None:
        """Forget the restarts of engines that were ready long enough."""
        memory = self.memory()
        for name in memory.restarts:
            ready = [t.ready_at for t in self._tracks_of(name, resolved) if t.ready_at is not None and t.serving]
            if ready and now.mono - min(ready) >= self.bounds.restart_reset:
                self.store.clear_restarts(name)
                self.changed()

    def _tracks_of(self, name: str, resolved: Resolved) -> list[Track]:
        return [track for track in self.tracks.values() if track.instance == name and resolved.get(name)]

    def prune_backoffs(self, open_ids: frozenset[str]) -> None:
        """Drop the backoffs of steps that are not in the plan any more."""
        for step_id in [s for s in self._backoffs if s not in open_ids]:
            del self._backoffs[step_id]
