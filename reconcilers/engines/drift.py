"""What hands changed on a running container and how it is put right: after a short grace, never at once. Pure."""

from __future__ import annotations

from dataclasses import replace

from controller.model.observed import Container, ContainerState
from controller.model.plan import Action, Cause, Step
from controller.model.resolved import ResolvedInstance
from reconcilers.draft import Draft
from reconcilers.view import View


def drift_steps(view: View, draft: Draft, instance: ResolvedInstance, container: Container) -> None:
    """Unpause, rename and reset the restart policy of the wanted container."""
    name = instance.name
    if container.state is ContainerState.PAUSED:
        _correct(view, draft, Step(f"unpause:{name}", Action.UNPAUSE, name, Cause("drift", "paused", "running")), container)
    wanted = container.identity.container_name() if container.identity else container.name
    if container.name != wanted:
        step = Step(f"rename:{name}", Action.RENAME, name, Cause("drift", container.name, wanted), name=wanted)
        after, blocked = free_name(view, draft, name, wanted)
        _correct(view, draft, replace(step, after=after, waiting_for=blocked), container)
    if container.restart_policy not in ("no", ""):
        cause = Cause("drift", f"restart policy {container.restart_policy}", "no")
        _correct(view, draft, Step(f"update:{name}", Action.UPDATE, name, cause), container)


def free_name(view: View, draft: Draft, instance: str, name: str) -> tuple[tuple[str, ...], str | None]:
    """What comes before a container can have this name, as step ids, or why it cannot be had.

    A container of ours that holds the name of another one (a hand renamed it, or a replacement was interrupted) gives it back.
    """
    holder = view.named(name)
    if holder is None:
        return (), None
    if holder.identity is None or holder.identity.rig != view.situation.resolved.rig.name:
        return (), f"name {name} is held by a container that is not ours ({holder.short_id})"
    own = holder.identity.container_name()
    free = own if view.named(own) is None else f"{own}-{holder.short_id}"
    step_id, cause = f"rename:{instance}:{holder.short_id}", Cause("leftover", name, free)
    return (draft.add(Step(step_id, Action.RENAME, instance, cause, target=holder.id, name=free)),), None


def _correct(view: View, draft: Draft, step: Step, container: Container) -> None:
    since = view.situation.memory.off_since.get(container.id, view.now)
    due = since + view.grace
    waiting = step.waiting_for
    if due > view.now:
        draft.until(due)
        waiting = waiting or f"grace of {view.grace:.0f} s after a change by hand"
    draft.add(replace(step, target=container.id, waiting_for=waiting))
