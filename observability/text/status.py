"""`steward status`: the rig, a row for each instance, and why a row is not fine. Pure."""

from __future__ import annotations

import math

from controller.model.observed import EngineMetrics
from controller.model.status import Condition, InstanceStatus, State, Status
from observability.cards import known, memory_used
from observability.text.cells import UNKNOWN, Cell, Color, clean, cut, paint, table, wrapped
from observability.text.units import age, count, gib, rate
from observability.text.why import is_fine, why

HEADINGS = ("NAME", "READY", "STATE", "GPUS", "PORT", "REV", "TPS", "VRAM", "RESTARTS", "AGE")
CARD_HEADINGS = ("GPU", "CARD", "MEMORY", "POWER", "TEMP", "BUSY", "INSTANCES", "UUID")
_STATE_COLORS = {State.READY: Color.GOOD, State.STALLED: Color.BAD, State.DEGRADED: Color.BAD, State.STOPPED: Color.FAINT}
_REVISION_DIGITS = 8


def status_text(status: Status, *, width: int, color: bool, verbose: bool) -> str:
    """The status for a terminal of this width; `verbose` adds base URLs, every condition and the cards."""
    lines = _rig_lines(status, width, color=color, verbose=verbose)
    lines += ["", *_instance_lines(status, width, color=color, verbose=verbose)]
    if verbose and status.cards:
        lines += ["", *table(_card_rows(status), width, color=color)]
    return "\n".join(lines) + "\n"


def _rig_lines(status: Status, width: int, *, color: bool, verbose: bool) -> list[str]:
    good = Color.GOOD if status.converged else Color.WARN
    lines = [paint(cut(clean(_headline(status)), width), good, on=color), cut(clean(_revisions(status)), width)]
    if status.mode != "auto":
        lines.append(cut(f"mode {status.mode}: plans and reports, changes nothing", width))
    lines += [
        _condition_line(condition, width, "", color=color)
        for condition in status.conditions
        if verbose or not (is_fine(condition) or _concerns_nobody(condition, status))
    ]
    lines += [cut(f"note: {clean(note)}", width) for note in status.plan.notes]
    return lines


def _concerns_nobody(condition: Condition, status: Status) -> bool:
    """Cards that cannot be read are no news on a machine whose instances run without any."""
    waits = any("cards not readable" in (step.waiting_for or "") for step in status.plan.steps)
    return condition.type == "GpusReadable" and not waits and not any(instance.gpus for instance in status.instances)


def _headline(status: Status) -> str:
    if status.converged:
        return f"rig {status.rig}: converged"
    steps = f", {count(len(status.plan.steps), 'step')} left" if status.plan.steps else ""
    return f"rig {status.rig}: not converged{steps}"


def _revisions(status: Status) -> str:
    if status.desired == status.accepted and status.accepted:
        return f"revision: {status.accepted}, accepted"
    return f"revision: {status.desired or UNKNOWN} wanted, {status.accepted or 'none'} accepted"


def _condition_line(condition: Condition, width: int, indent: str, *, color: bool) -> str:
    message = f": {clean(condition.message)}" if condition.message else ""
    text = cut(f"{indent}{condition.type} {condition.status.value} ({condition.reason}){message}", width)
    return text if is_fine(condition) else paint(text, Color.WARN, on=color)


def _instance_lines(status: Status, width: int, *, color: bool, verbose: bool) -> list[str]:
    if not status.instances:
        return [cut("the estate in force has no instance" if status.accepted else "no estate is in force yet", width)]
    heading = [Cell(text, Color.BOLD, right=text in ("TPS", "RESTARTS")) for text in HEADINGS]
    rows = table([heading, *(_row(instance, status) for instance in status.instances)], width, color=color)
    lines = rows[:1]
    for instance, row in zip(status.instances, rows[1:], strict=True):
        lines += [row, *_details(instance, status, width, color=color, verbose=verbose)]
    return lines


def _row(instance: InstanceStatus, status: Status) -> list[Cell]:
    return [
        Cell(instance.name),
        Cell("yes", Color.GOOD) if instance.ready else Cell("no", Color.WARN),
        Cell(instance.state.value, _STATE_COLORS.get(instance.state, Color.WARN)),
        Cell(_gpus(instance, status)),
        Cell(str(instance.port)),
        Cell(instance.revision[:_REVISION_DIGITS] or UNKNOWN),
        Cell(rate(instance.tps), right=True),
        Cell(_memory(memory_used(instance, status))),
        Cell(str(instance.restarts), right=True),
        Cell(age(instance.age_s)),
    ]


def _memory(used: int | None) -> str:
    """Used and projected GiB; a projection is a dash while nothing projects."""
    return UNKNOWN if used is None else f"{gib(used)}/{UNKNOWN}"


def _gpus(instance: InstanceStatus, status: Status) -> str:
    indices = {card.uuid: str(card.index) for card in status.cards}
    return ",".join(indices.get(uuid, uuid[:12]) for uuid in instance.gpus) or "none"


def _details(instance: InstanceStatus, status: Status, width: int, *, color: bool, verbose: bool) -> list[str]:
    lines = []
    reason = clean(why(instance, status.plan))
    if reason and verbose:
        lines += [paint(cut(f"  {line}", width), Color.WARN, on=color) for line in wrapped(f"why: {reason}", width - 2)]
    elif reason:
        lines.append(paint(cut(f"  why: {reason}", width), Color.WARN, on=color))
    lines += [paint(cut(f"  {line}", width), Color.WARN, on=color) for line in _warnings(instance, width, verbose=verbose)]
    if verbose:
        facts = [clean(text) for text in (instance.base_url, instance.compose, instance.model) if text]
        figures = _figures(instance.metrics)
        lines += [cut(f"  {text}", width) for text in ("  ".join(facts), figures) if text]
        lines += [_condition_line(condition, width, "  ", color=color) for condition in instance.conditions]
    return lines


def _warnings(instance: InstanceStatus, width: int, *, verbose: bool) -> list[str]:
    """What rules have against it: all of it, or the first and how many there are."""
    found = [f"warning: {clean(text)}" for text in instance.warnings]
    if verbose:
        return [line for text in found for line in wrapped(text, width - 2)]
    more = f" (and {len(found) - 1} more: `steward explain {instance.name}`)" if len(found) > 1 else ""
    return [cut(found[0], width - 2 - len(more)) + more] if found else []


def _figures(metrics: EngineMetrics | None) -> str:
    """What the engine itself has counted since its start; a figure that it does not export is left out."""
    if metrics is None:
        return ""
    counted = (
        (metrics.generation_tokens, "tokens generated"),
        (metrics.prompt_tokens, "tokens read"),
        (metrics.running, "requests running"),
        (metrics.waiting, "requests waiting"),
    )
    return ", ".join(f"{words}: {value:.0f}" for value, words in counted if value is not None and math.isfinite(value))


def _card_rows(status: Status) -> list[list[Cell]]:
    rows = [[Cell(text, Color.BOLD) for text in CARD_HEADINGS]]
    for card in status.cards:
        power, limit = known(card.power_watts), known(card.power_limit_watts)
        heat, busy = known(card.temperature_celsius), known(card.utilization)
        texts = (
            str(card.index),
            clean(card.name),
            f"{gib(known(card.memory_used))}/{gib(known(card.memory_total))} GiB",
            f"{UNKNOWN if power is None else f'{power:.0f}'}/{UNKNOWN if limit is None else f'{limit:.0f}'} W",
            UNKNOWN if heat is None else f"{heat} C",
            UNKNOWN if busy is None else f"{busy:.0%}",
            ",".join(status.card_users.get(card.uuid, ())) or UNKNOWN,
            card.uuid,
        )
        rows.append([Cell(text) for text in texts])
    return rows
