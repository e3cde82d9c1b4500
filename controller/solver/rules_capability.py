"""Which generation of cards is new enough: C3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.problem import Severity
from controller.solver.candidate import Candidate, TypedCard
from controller.solver.known import about_image, capability, cards_of, cards_text, listed, no_cards, verb
from controller.solver.rule import Rule, Said, holds, notes, skipped
from controller.solver.tenant import Finding


def c3_capability(me: Candidate) -> Iterator[Said]:
    """C3: every card has the compute capability that engine and template need, or the template's fallback."""
    engine, template = me.engine.min_compute_capability, me.requires.compute_capability
    if engine is None and template is None:
        yield skipped("neither the engine nor the template needs a compute capability")
    elif (why := no_cards(me)) is not None:
        yield skipped(why)
    else:
        yield from _compared(me, max(engine or 0.0, float(template or 0.0)), max(engine or 0.0, _fallback(me)))


def _fallback(me: Candidate) -> float:
    own, fallback = me.requires.compute_capability, me.requires.fallback_compute_capability
    return float(own or 0.0) if fallback is None else min(float(fallback), float(own or fallback))


def _compared(me: Candidate, floor: float, least: float) -> Iterator[Said]:
    known = [(typed, value) for typed in cards_of(me) if (value := capability(typed)) is not None]
    below = [typed for typed, value in known if value < least]
    between = [typed for typed, value in known if least <= value < floor]
    unread = [typed for typed in cards_of(me) if capability(typed) is None]
    if below:
        hint = f"use cards of compute capability {least} or newer, or another template"
        yield Finding("C3", me.name, ("gpus",), _too_old(me, below, least), hint)
    elif unread:
        yield skipped(f"compute capability not read: {cards_text(unread)}")
    elif between:
        yield notes(f"{cards_text(between)}: below {floor}, so the weights are unpacked first (works from {least} on)")
    else:
        yield holds(f"{floor} or newer is needed")


def _too_old(me: Candidate, below: list[TypedCard], least: float) -> str:
    who = me.engine.id if least <= (me.engine.min_compute_capability or 0.0) else "the template"
    values = listed(sorted({capability(typed) for typed in below}, key=str))
    tail = about_image(me) if who == me.engine.id else ""
    return f"{who} needs compute capability {least}, {cards_text(below)} {verb(below, 'has', 'have')} {values}{tail}"


RULES: Final = (
    Rule(
        "C3",
        "cards new enough for engine and template",
        Severity.ERROR,
        "an engine has no kernels for older cards; a template that says `fallback_compute_capability` has weights which older"
        " cards unpack first",
        "newer cards, or a template for older ones",
        alone=c3_capability,
    ),
)
