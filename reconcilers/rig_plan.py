"""Joins the kinds into one ordered plan for the whole rig. Pure: the same situation gives the same plan."""

from __future__ import annotations

from dataclasses import replace

from controller.model.fields import duration_text
from controller.model.moment import iso
from controller.model.plan import Action, Plan, Step
from controller.model.reading import Unknown
from controller.model.resolved import ResolvedInstance
from controller.model.situation import Situation
from reconcilers.artifacts.plan import image_steps, payload_steps
from reconcilers.draft import ORDER, Draft, held
from reconcilers.engines.leave import prune_orphan
from reconcilers.engines.plan import instance_steps
from reconcilers.gpus.plan import claim_steps
from reconcilers.view import View


def rig_plan(situation: Situation, grace: float = 5.0) -> Plan:
    """All that is left to do; `grace` in seconds before drift is corrected.

    A container list that could not be read gives an empty plan with a note: Unknown is never "nothing there".
    """
    containers = situation.observed.containers
    if isinstance(containers, Unknown):
        return Plan(notes=(f"nothing is planned: the engine's containers are not readable ({containers.reason})",))
    view, draft = View(situation, grace), Draft()
    pulls = image_steps(view, draft)
    for instance in situation.resolved.instances:
        pull = pulls.get(instance.spec.image)
        before = ((pull,) if pull else ()) + payload_steps(view, draft, instance)
        instance_steps(view, draft, instance, before)
    for name in view.orphans():
        prune_orphan(view, draft, name)
    claim_steps(view, draft, {instance.name: instance for instance in situation.resolved.instances})
    _hold_suspended(view, draft)
    _hold_backoffs(view, draft)
    _hold_boots(view, draft)
    _hold_prunes(draft)
    return draft.plan()


def _hold_prunes(draft: Draft) -> None:
    """Removal is last: it waits for every other step that can go on by itself."""
    blocked: set[str] = set()
    for step in sorted(draft.steps, key=lambda s: ORDER[s.action]):
        if step.waiting_for or blocked.intersection(step.after):
            blocked.add(step.id)
    busy = tuple(s.id for s in draft.steps if s.action not in (Action.PRUNE, Action.REMOVE) and s.id not in blocked)
    prunes = [s for s in draft.steps if s.action is Action.PRUNE]
    draft.replace([replace(s, after=tuple(dict.fromkeys((*s.after, *busy)))) for s in prunes])


def _hold_suspended(view: View, draft: Draft) -> None:
    wall = view.situation.now.wall
    changed = []
    for instance in view.situation.resolved.instances:
        suspension = instance.live.suspend
        if suspension and suspension.until > wall:
            reason = f"suspended until {iso(suspension.until)}: {suspension.reason}"
            changed += [replace(s, waiting_for=reason, begun=False) for s in draft.steps if s.instance == instance.name]
            draft.until(view.now + suspension.until - wall)
    draft.replace(changed)


def _hold_backoffs(view: View, draft: Draft) -> None:
    changed = []
    for step in draft.steps:
        backoff = view.situation.memory.backoffs.get(step.id)
        if backoff and backoff.until > view.now:
            draft.until(backoff.until)
            pause = duration_text(max(1.0, round(backoff.until - view.now)))
            changed.append(held(step, f"{backoff.reason} (try {backoff.attempts + 1} in {pause})"))
    draft.replace(changed)


def _hold_boots(view: View, draft: Draft) -> None:
    """At most `boot.parallel` engines boot at once, each `boot.stagger` after the one before."""
    rig = view.situation.resolved.rig
    booting = sum(1 for instance in view.situation.resolved.instances if _is_booting(view, instance))
    last = view.situation.memory.last_start
    next_at = last + rig.stagger if last is not None else view.now
    changed: list[Step] = []
    open_ids = {step.id for step in draft.steps}
    for step in draft.steps:
        if step.action is not Action.START or step.waiting_for or open_ids.intersection(step.after):
            continue
        if booting >= rig.boot.parallel:
            changed.append(held(step, f"a boot slot: {booting} boot now, at most {rig.boot.parallel} at once"))
        elif next_at > view.now:
            draft.until(next_at)
            changed.append(held(step, f"the stagger of {duration_text(rig.stagger)} between boots"))
        else:
            booting += 1
            next_at = view.now + rig.stagger
    draft.replace(changed)


def _is_booting(view: View, instance: ResolvedInstance) -> bool:
    return any(c.running and not view.ready(c) for c in view.of(instance.name))
