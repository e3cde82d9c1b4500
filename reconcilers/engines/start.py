"""When a container may start: its cards, its dependencies and its own past decide. Pure."""

from __future__ import annotations

from controller.model.observed import Container, ContainerState
from controller.model.plan import Action, Cause, Step
from controller.model.resolved import ResolvedInstance
from reconcilers.draft import Draft
from reconcilers.view import View, cards_unknown


def start_step(
    view: View,
    draft: Draft,
    instance: ResolvedInstance,
    match: Container | None,
    after: tuple[str, ...],
    waiting: str | None,
) -> str:
    """Add the start of an instance; its id. Claims of other instances are joined in by the rig's plan."""
    suffix = f":{match.short_id}" if match else ""
    step = Step(
        id=f"start:{instance.name}{suffix}",
        action=Action.START,
        instance=instance.name,
        cause=_start_cause(view, match),
        target=match.id if match else "",
        after=after,
        waiting_for=waiting
        or _cards(view, instance)
        or _dependencies(view, instance)
        or _past(view, draft, instance, match)
        or None,
        spec_hash=instance.spec_hash,
    )
    return draft.add(step)


def _start_cause(view: View, match: Container | None) -> Cause:
    if match is None or match.state is ContainerState.CREATED:
        return Cause("container", "created", "running")
    if match.id in view.situation.observed.hand_signals:
        return Cause("drift", "stopped by hand", "running")
    return Cause("container", f"exited with code {match.exit_code}", "running")


def _cards(view: View, instance: ResolvedInstance) -> str:
    unreadable = cards_unknown(view)
    return f"cards not readable: {unreadable}" if instance.spec.gpus and unreadable else ""


def _dependencies(view: View, instance: ResolvedInstance) -> str:
    waiting = [name for name in instance.live.depends_on if not _is_ready(view, name)]
    return f"{', '.join(waiting)} to be ready" if waiting else ""


def _is_ready(view: View, name: str) -> bool:
    other = view.situation.resolved.get(name)
    match = view.match(other) if other else None
    return match is not None and view.ready(match)


def _past(view: View, draft: Draft, instance: ResolvedInstance, match: Container | None) -> str:
    """The pause after a crash (wall time: it outlives the process), or the grace after a hand's stop."""
    restarts = view.situation.memory.restarts.get(instance.name)
    wall = view.situation.now.wall
    if restarts and restarts.spec_hash == instance.spec_hash and restarts.next_at > wall:
        draft.until(view.now + restarts.next_at - wall)
        return f"restart {restarts.count} after {restarts.reason}, not before {restarts.next_at - wall:.0f} s from now"
    off = view.situation.memory.off_since.get(match.id) if match else None
    if off is not None and off + view.grace > view.now:
        draft.until(off + view.grace)
        return f"grace of {view.grace:.0f} s after it was stopped by hand"
    return ""
