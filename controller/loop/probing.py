"""Asks every running engine of ours how it is, on the workers, and keeps the latest answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from controller.errors import StewardError
from controller.loop.rates import decode_tps
from controller.model.observed import Container, ContainerState, Probe
from controller.model.resolved import Serving
from controller.model.situation import Situation
from controller.ports import Clock, EngineProbe, Finished, ProbeTarget, Secrets, Workers
from controller.rollout.lifecycle import live_of, serving_of
from controller.settings import Bounds

LANE = "probe/"


@dataclass(slots=True)
class Prober:
    """Schedules probes: every second while an engine boots or drains, at `health.interval` once it is ready."""

    engines: EngineProbe
    workers: Workers
    secrets: Secrets
    clock: Clock
    bounds: Bounds
    latest: dict[str, Probe] = field(default_factory=dict)
    _asked: dict[str, float] = field(default_factory=dict)

    def take(self, finished: Finished) -> None:
        """Keep one answer, with the rate since the one before (an idle engine keeps its last rate)."""
        if isinstance(finished.value, Probe):
            probe = finished.value
            before = self.latest.get(finished.key)
            tps = decode_tps(before, probe) or (before.decode_tps if before else None)
            self.latest[finished.key] = replace(probe, decode_tps=tps)

    def schedule(self, situation: Situation) -> float | None:
        """Start the probes that are due; when (monotonic seconds) the next one will be."""
        running = [c for c in situation.observed.ours(situation.resolved.rig.name) if c.state is ContainerState.RUNNING]
        self._forget({c.id for c in running})
        due_times = [due for container in running if (due := self._ask(situation, container)) is not None]
        return min(due_times, default=None)

    def _ask(self, situation: Situation, container: Container) -> float | None:
        serving = serving_of(situation, container)
        track = situation.tracks.get(container.id)
        if serving is None:
            return None
        interval = self._interval(situation, container)
        now = situation.now.mono
        asked = self._asked.get(container.id)
        due = now if asked is None else next_beat(asked, interval)
        if due > now:
            return due
        target = self._target(situation, container, serving, want_completion=track is None or track.ready_at is None)
        if self.workers.submit(LANE + container.id, container.id, partial(self._probe, target)):
            self._asked[container.id] = now
        return next_beat(now, interval)

    def _interval(self, situation: Situation, container: Container) -> float:
        track = situation.tracks.get(container.id)
        settled = track is not None and track.ready_at is not None and track.drain_began is None
        return live_of(situation, container).health.interval if settled else self.bounds.booting_probe

    def _target(self, situation: Situation, container: Container, serving: Serving, *, want_completion: bool) -> ProbeTarget:
        health = live_of(situation, container).health
        key = self._reveal(serving)
        return ProbeTarget(container.id, serving, health.timeout, health.canary_timeout, want_completion, key)

    def _reveal(self, serving: Serving) -> str:
        try:
            return self.secrets.reveal(serving.api_key.secret) if serving.api_key else ""
        except StewardError:
            return ""

    def _probe(self, target: ProbeTarget) -> Probe:
        return self.engines.probe(target, self.clock.now())

    def _forget(self, running: set[str]) -> None:
        for memory in (self.latest, self._asked):
            for container in [c for c in memory if c not in running]:
                del memory[container]

    def answers(self) -> Mapping[str, Probe]:
        """The latest probe of each running container."""
        return dict(self.latest)


def next_beat(after: float, interval: float) -> float:
    """The next multiple of the interval: engines with the same interval are asked together, which costs one pass, not many.

    A beat that is nearer than half an interval is left out.
    """
    return math.ceil((after + interval / 2) / interval) * interval
