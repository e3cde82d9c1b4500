"""Who must leave a card before another may start on it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.model.plan import Action, Step
from controller.model.resolved import ResolvedInstance
from reconcilers.draft import Draft, held
from reconcilers.gpus.memory import short_of_memory
from reconcilers.view import View


def claim_steps(view: View, draft: Draft, instances: Mapping[str, ResolvedInstance]) -> None:
    """Let every start wait for the stops of those who hold its cards or its port now."""
    changed = []
    for step in draft.steps:
        instance = instances.get(step.instance)
        if step.action is Action.START and instance is not None:
            changed.append(_join(view, draft, step, instance))
    draft.replace(changed)


def _join(view: View, draft: Draft, step: Step, instance: ResolvedInstance) -> Step:
    shares = instance.live.share or instance.vram_claim_bytes is not None
    holders = () if shares else view.card_holders(instance.spec.gpus, instance.name)
    _, port_holder = view.port_holder(instance.spec.port, instance.spec.bind, instance.name)
    after = list(step.after)
    for holder in (*holders, *([port_holder] if port_holder else [])):
        stop = draft.stop_of(holder.id)
        if stop is None:
            what = "its card" if holder in holders else f"port {instance.spec.port}"
            step = held(step, f"{what} is held by container {holder.name} ({holder.short_id})")
        elif stop not in after:
            after.append(stop)
    return _with_memory(view, replace(step, after=tuple(after)), instance, shares=shares)


def _with_memory(view: View, step: Step, instance: ResolvedInstance, *, shares: bool) -> Step:
    """The start, waiting for memory where nothing else is in its way and no container of ours holds the cards."""
    running = view.card_holders(instance.spec.gpus, "")
    ours = [c for c in running if not shares or (c.identity and c.identity.instance == instance.name)]
    if step.waiting_for or ours or not (reason := short_of_memory(view, instance)):
        return step
    return replace(held(step, reason), waits_for_memory=True)
