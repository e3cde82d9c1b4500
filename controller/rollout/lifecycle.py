"""The fold of one observation into what is remembered of each container. Pure.

    created ──start──▶ booting ──ready and a first completion──▶ ready ◀──probe answers── missing probes
                          │                                        │
                          ├─ no progress for boot.stall ─▶ failed  └─ exits by itself ─▶ exited (restart after a pause)
                          ├─ longer than boot.cap ──────▶ failed
                          └─ exits by itself ───────────▶ failed

A failed read changes nothing: without a container list there is no fold at all, and a missing probe is no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.model.moment import Instant
from controller.model.observed import Container, ContainerState, Observed, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known, Unknown
from controller.model.resolved import LiveSettings, Serving
from controller.model.situation import Situation
from controller.model.track import FaultClass, Track, Verdict
from controller.rollout.boot_failure import boot_failure, exit_failure
from controller.rollout.restarts import next_restart

DEFAULT_LIVE = LiveSettings()


@dataclass(frozen=True, slots=True)
class Fold:
    """The new memory of containers, and what was concluded on the way."""

    tracks: Mapping[str, Track]
    off_since: Mapping[str, float]
    verdicts: tuple[Verdict, ...] = ()


def advance(situation: Situation, restart_reset: float) -> Fold:
    """Fold the observation in; `restart_reset` is the readiness in seconds after which restarts count from zero."""
    observed = situation.observed
    if isinstance(observed.containers, Unknown):
        return Fold(situation.tracks, situation.memory.off_since)
    tracks: dict[str, Track] = {}
    verdicts: list[Verdict] = []
    for container in observed.ours(situation.resolved.rig.name):
        before = situation.tracks.get(container.id)
        if container.state in (ContainerState.RUNNING, ContainerState.PAUSED):
            track = _follow(situation, container, before or first_track(situation, container))
            tracks[container.id] = track
            verdicts += _conclude(situation, container, before, track)
        elif before is not None and container.state is ContainerState.EXITED:
            verdicts += _ended(situation, container, before, restart_reset)
        elif before is not None:
            tracks[container.id] = before
    return Fold(tracks, _off_since(situation), tuple(verdicts))


def first_track(situation: Situation, container: Container) -> Track:
    """A container met running, or just started: booting from now on, unless it was ready in an earlier life of Steward."""
    now = situation.now.mono
    known = container.id in situation.memory.ready_marks
    instance = container.identity.instance if container.identity else ""
    return Track(container.id, now, now, instance, ready_at=now if known else None, serving=known)


def serving_of(situation: Situation, container: Container) -> Serving | None:
    """How to ask a container: as recorded for its spec, else as its instance is now."""
    if container.identity is None:
        return None
    key = (container.identity.instance, container.identity.spec_hash)
    if recorded := situation.memory.servings.get(key):
        return recorded
    instance = situation.resolved.get(container.identity.instance)
    return instance.serving if instance else None


def live_of(situation: Situation, container: Container) -> LiveSettings:
    """The live settings of a container's instance; the defaults for an orphan."""
    instance = situation.resolved.get(container.identity.instance) if container.identity else None
    return instance.live if instance else DEFAULT_LIVE


def _follow(situation: Situation, container: Container, track: Track) -> Track:
    probe = situation.observed.probes.get(container.id)
    log = situation.observed.logs.get(container.id)
    now = situation.now.mono
    if container.state is ContainerState.PAUSED:
        return replace(track, progress_at=now)
    if probe is not None and probe.at.mono > track.probe_at:
        track = _hear(situation, container, track, probe)
    mark = f"{probe.phase if probe else ''}|{probe.detail if probe else ''}|{log.mark if log else ''}"
    if mark != track.progress_mark:
        track = replace(track, progress_mark=mark, progress_at=now)
    return track


def _hear(situation: Situation, container: Container, track: Track, probe: Probe) -> Track:
    live, answered = live_of(situation, container), probe.phase is ServePhase.SERVING
    track = replace(track, probe_at=probe.at.mono, idle_since=_idle_since(track, probe))
    if track.ready_at is None:
        ready = is_ready(probe, serving_of(situation, container), probe.at.mono - track.began, live)
        return replace(track, ready_at=probe.at.mono, serving=True, misses=0) if ready else track
    if answered:
        return replace(track, serving=True, misses=0)
    misses = track.misses + 1
    return replace(track, misses=misses, serving=track.serving and misses < live.health.misses)


def is_ready(probe: Probe, serving: Serving | None, age: float, live: LiveSettings) -> bool:
    """Readiness: an engine lists its name and has completed one request; a generic tenant only answers, or just lives."""
    if serving is not None and serving.dialect is DialectName.GENERIC:
        return age >= live.health.min_healthy if serving.readiness.kind == "none" else probe.phase is ServePhase.SERVING
    completed = probe.completion is not None and probe.completion.ok
    return probe.phase is ServePhase.SERVING and probe.served is not False and completed


def _idle_since(track: Track, probe: Probe) -> float | None:
    if not isinstance(probe.metrics, Known) or probe.metrics.value.running is None:
        return None
    busy = probe.metrics.value.running + (probe.metrics.value.waiting or 0)
    return None if busy > 0 else (track.idle_since if track.idle_since is not None else probe.at.mono)


def _conclude(situation: Situation, container: Container, before: Track | None, track: Track) -> list[Verdict]:
    identity = container.identity
    if identity is None:
        return []
    if track.ready_at is not None:
        was_ready = (before is not None and before.ready_at is not None) or container.id in situation.memory.ready_marks
        if was_ready:
            return []
        return [_verdict("ready", situation.now, container, detail=f"{track.ready_at - track.began:.1f} s after its start")]
    live, now = live_of(situation, container), situation.now.mono
    wanted = situation.resolved.get(identity.instance)
    if wanted is None or (identity.instance, identity.spec_hash) in situation.memory.failures:
        return []
    if container.state is ContainerState.PAUSED:
        return []
    quiet, age = situation.observed.at.mono - track.progress_at, now - track.began
    if quiet >= live.boot.stall or age >= live.boot.cap:
        failure = boot_failure(situation, container, quiet, age, live.boot.cap, serving_of(situation, container))
        return [replace(_verdict("boot-failed", situation.now, container), failure=failure)]
    return []


def _ended(situation: Situation, container: Container, track: Track, restart_reset: float) -> list[Verdict]:
    """A container that ran has stopped: on our word, by a hand, or by itself."""
    identity, by_hand = container.identity, container.id in situation.observed.hand_signals
    if identity is None or by_hand or container.id in situation.memory.stops:
        return []
    wanted = situation.resolved.get(identity.instance)
    if wanted is None or not wanted.is_spec_of(identity):
        return []
    failure = exit_failure(situation, container, serving_of(situation, container))
    if track.ready_at is None:
        if failure.fault is FaultClass.ENVIRONMENT:
            restarts = next_restart(situation, container, failure.reason, 0.0, restart_reset)
            return [replace(_verdict("exited", situation.now, container), restarts=restarts, failure=failure)]
        return [replace(_verdict("boot-failed", situation.now, container), failure=failure)]
    lasted = situation.now.mono - track.ready_at
    restarts = next_restart(situation, container, failure.reason, lasted, restart_reset)
    return [replace(_verdict("exited", situation.now, container), restarts=restarts, failure=failure)]


def _off_since(situation: Situation) -> dict[str, float]:
    """Since when each container is off what its labels say: paused, renamed, another restart policy, stopped by hand."""
    observed, before = situation.observed, situation.memory.off_since
    now = situation.now.mono
    return {
        container.id: before.get(container.id, now)
        for container in observed.ours(situation.resolved.rig.name)
        if _is_off(observed, container)
    }


def _is_off(observed: Observed, container: Container) -> bool:
    if container.identity is None:
        return False
    renamed = container.name != container.identity.container_name()
    paused = container.state is ContainerState.PAUSED
    by_hand = container.state is ContainerState.EXITED and container.id in observed.hand_signals
    return paused or renamed or by_hand or container.restart_policy not in ("no", "")


def note_drains(tracks: Mapping[str, Track], draining: frozenset[str], now: Instant) -> dict[str, Track]:
    """Start the clock of drains that are planned now and forget those that are not wanted any more."""
    noted = {}
    for container, track in tracks.items():
        if container in draining and track.drain_began is None:
            track = replace(track, drain_began=now.mono)
        elif container not in draining and track.drain_began is not None:
            track = replace(track, drain_began=None)
        noted[container] = track
    return noted


def _verdict(kind: str, now: Instant, container: Container, detail: str = "") -> Verdict:
    identity = container.identity
    instance, spec_hash = (identity.instance, identity.spec_hash) if identity else ("", "")
    return Verdict(kind, instance, container.id, spec_hash, now, detail=detail)
