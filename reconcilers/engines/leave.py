"""How a container goes: drained, stopped, and later removed. Pure."""

from __future__ import annotations

from controller.model.desired import Drain
from controller.model.observed import Container, ContainerState
from controller.model.plan import Action, Cause, Step
from controller.model.profile import DialectName
from controller.model.reading import Known
from controller.model.resolved import ResolvedInstance
from controller.model.track import Track
from controller.rollout.lifecycle import serving_of
from reconcilers.draft import Draft
from reconcilers.view import View


def leave(
    view: View,
    draft: Draft,
    container: Container,
    cause: Cause,
    drain: Drain,
    after: tuple[str, ...] = (),
    waiting: str | None = None,
) -> str:
    """Drain (where it serves) and stop a running container; the id of the stop."""
    name = container.identity.instance if container.identity else ""
    spec_hash = container.identity.spec_hash if container.identity else ""
    drained = _drain(view, draft, container, cause, drain, after, waiting)
    return draft.add(
        Step(
            id=f"stop:{name}:{container.short_id}",
            action=Action.STOP,
            instance=name,
            cause=cause,
            target=container.id,
            after=(drained,) if drained else after,
            waiting_for=None if drained else waiting,
            spec_hash=spec_hash,
            timeout_s=drain.term,
        )
    )


def _drain(
    view: View, draft: Draft, container: Container, cause: Cause, drain: Drain, after: tuple[str, ...], waiting: str | None
) -> str | None:
    track = view.situation.tracks.get(container.id)
    if track is None or track.ready_at is None or _is_generic(view, container) or _drained(track, drain, view.now):
        return None
    name = container.identity.instance if container.identity else ""
    begun = not after and not waiting
    step = Step(
        id=f"drain:{name}:{container.short_id}",
        action=Action.DRAIN,
        instance=name,
        cause=cause,
        target=container.id,
        after=after,
        waiting_for=waiting or (_drain_text(view, container, track, drain) if begun else None),
        begun=begun,
    )
    if track.drain_began is not None:
        draft.until(track.drain_began + drain.limit)
        if track.idle_since is not None:
            draft.until(max(track.idle_since, view.now) + drain.idle_for)
    return draft.add(step)


def _is_generic(view: View, container: Container) -> bool:
    """A generic tenant counts no requests: it gets SIGTERM at once."""
    serving = serving_of(view.situation, container)
    return serving is not None and serving.dialect is DialectName.GENERIC


def _drained(track: Track, drain: Drain, now: float) -> bool:
    if track.drain_began is None:
        return False
    if now - track.drain_began >= drain.limit:
        return True
    confirmed = track.probe_at >= track.drain_began
    return confirmed and track.idle_since is not None and now - track.idle_since >= drain.idle_for


def _drain_text(view: View, container: Container, track: Track, drain: Drain) -> str:
    probe = view.situation.observed.probes.get(container.id)
    metrics = probe.metrics.value if probe and isinstance(probe.metrics, Known) else None
    if metrics is None or metrics.running is None:
        requests = "requests unknown"
    else:
        requests = f"{metrics.running + (metrics.waiting or 0):.0f} request(s) open"
    spent = 0.0 if track.drain_began is None else view.now - track.drain_began
    return f"{requests}, {spent:.0f} s of at most {drain.limit:.0f} s"


def remove_surplus(
    view: View, draft: Draft, instance: ResolvedInstance, others: tuple[Container, ...], *, after_ready: bool
) -> None:
    """Remove leftovers of a replacement: never-started ones at once, stopped ones beyond `rollback.keep` once ready."""
    stopped = [c for c in others if not c.running and c.state is not ContainerState.REMOVING]
    never_ran = [c for c in stopped if c.state in (ContainerState.CREATED, ContainerState.DEAD) and c.started_at is None]
    marks = view.situation.memory.ready_marks
    proven_first = sorted((c for c in stopped if c not in never_ran), key=lambda c: c.id not in marks)
    surplus = proven_first[instance.live.rollback.keep :] if after_ready else []
    for container in (*never_ran, *surplus):
        why = Cause("leftover", "never started", "removed") if container in never_ran else Cause("rollback.keep", "", "surplus")
        draft.add(_removal(container, Action.REMOVE, why))


def prune_orphan(view: View, draft: Draft, name: str) -> None:
    """Drain, stop and remove the containers of an instance that is no longer desired."""
    cause = Cause("instance", "desired", "removed")
    for container in view.of(name):
        stop = leave(view, draft, container, cause, view.situation.resolved.rig.drain) if container.running else None
        if container.state is not ContainerState.REMOVING:
            draft.add(_removal(container, Action.PRUNE, cause, (stop,) if stop else ()))


def _removal(container: Container, action: Action, cause: Cause, after: tuple[str, ...] = ()) -> Step:
    name = container.identity.instance if container.identity else ""
    step_id = f"{action}:{name}:{container.short_id}"
    return Step(step_id, action, name, cause, target=container.id, after=after)
