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
        holder = view.named(wanted)
        blocked = f"name {wanted} is held by container {holder.short_id}" if holder else None
        _correct(view, draft, replace(step, waiting_for=blocked), container)
    if container.restart_policy not in ("no", ""):
        cause = Cause("drift", f"restart policy {container.restart_policy}", "no")
        _correct(view, draft, Step(f"update:{name}", Action.UPDATE, name, cause), container)


def _correct(view: View, draft: Draft, step: Step, container: Container) -> None:
    since = view.situation.memory.off_since.get(container.id, view.now)
    due = since + view.grace
    waiting = step.waiting_for
    if due > view.now:
        draft.until(due)
        waiting = waiting or f"grace of {view.grace:.0f} s after a change by hand"
    draft.add(replace(step, target=container.id, waiting_for=waiting))
