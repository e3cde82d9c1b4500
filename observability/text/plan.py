"""The plan as text: the same plan always reads the same, so that tests and people compare it. Pure."""

from __future__ import annotations

from controller.model.plan import Action, Plan, Step
from observability.text.cells import clean
from observability.text.units import count

DRAIN_NOTE = "drain: best effort, new requests may still arrive"


def plan_text(plan: Plan) -> str:
    """A header with counts, then each step with its number, action, instance, cause and what it waits for."""
    numbers = {step.id: number for number, step in enumerate(plan.steps, 1)}
    lines = [_header(plan)]
    for step in plan.steps:
        lines += _step_lines(step, numbers, plan)
    lines += [f"note: {clean(note)}" for note in plan.notes]
    return "\n".join(lines) + "\n"


def _header(plan: Plan) -> str:
    if not plan.steps:
        return "plan: no steps" if plan.notes else "plan: nothing is left to do"
    ready = len(plan.frontier())
    waiting = sum(1 for step in plan.steps if step.waiting_for is not None)
    later = len(plan.steps) - ready - waiting
    return f"plan: {count(len(plan.steps), 'step')}: {ready} ready, {waiting} waiting, {later} later"


def _step_lines(step: Step, numbers: dict[str, int], plan: Plan) -> list[str]:
    digits = len(str(len(plan.steps)))
    actions = max(len(each.action.value) for each in plan.steps)
    names = max(len(each.instance) for each in plan.steps)
    first = f"{numbers[step.id]:>{digits}}. {step.action.value:<{actions}}  {step.instance:<{names}}  {clean(str(step.cause))}"
    indent = " " * (digits + 2)
    lines = [first.rstrip()]
    if after := sorted(numbers[each] for each in step.after if each in numbers):
        lines.append(f"{indent}after {', '.join(str(number) for number in after)}")
    if step.waiting_for is not None:
        lines.append(f"{indent}waiting for {clean(step.waiting_for)}")
    if step.action is Action.DRAIN:
        lines.append(f"{indent}{DRAIN_NOTE}")
    return lines
