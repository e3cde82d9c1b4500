"""One look at the rig without being its writer: for `plan`, `status` and `wait` while no controller runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.app.files import FileResolver, read_resolved
from controller.app.world import Real, real
from controller.errors import EstateInvalid
from controller.model.observed import Container, Observed, Probe, ServePhase
from controller.model.plan import Plan
from controller.model.reading import Known
from controller.model.resolved import Resolved
from controller.model.situation import Situation
from controller.model.status import Status
from controller.model.track import Memory, Track
from controller.ports import ProbeTarget, Records
from controller.rollout.acceptance import mass_change
from controller.rollout.lifecycle import first_track, live_of, serving_of
from controller.rollout.standing import Outside, standing
from controller.settings import Settings
from controller.store.sqlite import SqliteStore
from reconcilers.rig import RigReconcilers


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen, and what a controller would do now."""

    status: Status
    plan: Plan
    resolved: Resolved
    observed: Observed


def look(settings: Settings) -> Look:
    """Resolve the estate on disk and plan against the engine as it is; raises EstateInvalid."""
    parts = real(settings)
    store = SqliteStore.open_readonly(settings.store) if settings.store.exists() else None
    try:
        return _look(settings, parts, store)
    finally:
        if store is not None:
            store.close()


def _look(settings: Settings, parts: Real, store: Records | None) -> Look:
    reconcilers = RigReconcilers(parts.world, settings.bounds)
    memory = store.memory() if store else Memory()
    accepted = store.accepted() if store else None
    resolver = FileResolver(settings, parts.secrets)
    resolved = read_resolved(settings, resolver, store.bindings() if store else {})
    now = parts.clock.now()
    observed = reconcilers.observe(resolved, memory, reconcilers.cards(), now)
    is_new = accepted is None or accepted.revision != resolved.revision
    seen = observed.containers.value if isinstance(observed.containers, Known) else ()
    if is_new and (problem := mass_change(resolved, seen)):
        raise EstateInvalid((problem,))
    situation = Situation(resolved, observed, now, memory=memory)
    probes = _ask(parts, situation)
    situation = replace(situation, observed=replace(observed, probes=probes))
    situation = replace(situation, tracks={c.id: _track(situation, c) for c in observed.ours(resolved.rig.name) if c.running})
    plan = reconcilers.plan(situation)
    outside = Outside(
        desired=resolved.revision,
        accepted=accepted.revision if accepted else "",
        problems=resolved.problems,
        last_actions=store.last_actions() if store else {},
    )
    return Look(standing(situation, plan, outside), plan, resolved, situation.observed)


def _ask(parts: Real, situation: Situation) -> dict[str, Probe]:
    """Probe each of our running containers once, without a completion."""
    answers = {}
    for container in situation.observed.ours(situation.resolved.rig.name):
        serving = serving_of(situation, container)
        if container.running and serving is not None:
            health = live_of(situation, container).health
            key = parts.secrets.reveal(serving.api_key.secret) if serving.api_key else ""
            target = ProbeTarget(container.id, serving, health.timeout, health.canary_timeout, False, key)
            answers[container.id] = parts.probe.probe(target, situation.now)
    return answers


def _track(situation: Situation, container: Container) -> Track:
    """Ready when an earlier controller saw its first completion, or when it answers and lists its name now."""
    track, probe = first_track(situation, container), situation.observed.probes.get(container.id)
    answers = probe is not None and probe.phase is ServePhase.SERVING and probe.served is not False
    ready_at = track.ready_at if track.ready_at is not None else (situation.now.mono if answers else None)
    return replace(track, ready_at=ready_at, serving=answers)
