"""What has to fit: the context into the model (C11), the engine into the cards (C12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from controller.model.problem import Severity
from controller.model.profile_hardware import LEAST_REPORTED
from controller.model.profile_words import DialectName
from controller.solver.candidate import Candidate, RigView, TypedCard
from controller.solver.card_memory import nominal_bytes
from controller.solver.known import GIB, OFFLOAD, card_text, cards_of, cards_text, gib, no_cards, total_bytes, verb, version_of
from controller.solver.rule import Rule, Said, holds, skipped
from controller.solver.tenant import Finding

UTILIZATION: Final = "gpu_memory_utilization"
_HIGHER_DEFAULT_SINCE: Final = (0, 20, 0)
CROWDED: Final = 0.95
"""Share of a card that its tenants may claim together before the rest is too little for drivers and graphs."""
NOT_PROJECTED: Final = (
    "memory is not projected: this version checks what template, weights and other tenants say, not the KV cache"
)


def c11_context(me: Candidate) -> Iterator[Said]:
    """C11: the context is within what the model was made for."""
    wanted = me.number("max_model_len")
    if me.model is None:
        yield skipped("the template names no model")
    elif me.model.max_context_tokens is None:
        yield skipped(f"it is not known how long a context {me.model.id} takes")
    elif wanted is None:
        yield skipped(f"max_model_len is not set, so the engine takes the model's own {me.model.max_context_tokens}")
    elif wanted <= me.model.max_context_tokens:
        yield holds(f"{wanted} of {me.model.max_context_tokens} tokens")
    else:
        message = f"max_model_len {wanted} is more than {me.model.id} takes: {me.model.max_context_tokens}"
        hint = f"set max_model_len: {me.model.max_context_tokens} or less"
        yield Finding("C11", me.name, ("set", "max_model_len"), message, hint)


def c12_memory(me: Candidate, view: RigView) -> Iterator[Said]:
    """C12: what the instance is known to need is there on each of its cards, others' memory left out."""
    if (why := no_cards(me)) is not None:
        yield skipped(why)
        return
    found = [*_too_small(me), *_too_little_left(me), *_weights_too_large(me)] or list(_crowded(me, view))
    yield from found
    if not found and me.engine.type in (DialectName.VLLM, DialectName.LLAMACPP, DialectName.SGLANG):
        yield Finding("C12", me.name, ("gpus",), NOT_PROJECTED, severity=Severity.INFO)
    elif not found:
        yield holds("nothing is known of what it needs")


def _too_small(me: Candidate) -> Iterator[Finding]:
    """What the template says it needs of each card, in nominal sizes; vLLM's own share of what is left is known exactly."""
    needed = (me.requires.min_vram_gib or 0) * GIB
    for typed in cards_of(me):
        nominal, total, foreign = nominal_bytes(typed.card, typed.profile), total_bytes(typed), typed.card.foreign_bytes
        if nominal is not None and nominal < needed:
            message = f"the template needs cards of {gib(needed)}, and {card_text(typed)} has {nominal / GIB:.0f} GiB"
            yield Finding("C12", me.name, ("gpus",), message, "take a larger card, or a template for smaller ones")
        elif (
            total is not None
            and foreign
            and total - foreign < LEAST_REPORTED * needed
            and me.engine.type is not DialectName.VLLM
        ):
            left = f"others leave {gib(total - foreign)} of the {gib(total)} of {card_text(typed)}"
            message = f"the template needs cards of {gib(needed)}, and {left}"
            yield Finding("C12", me.name, ("gpus",), message, "free the card, or take a template for smaller ones")


def _too_little_left(me: Candidate) -> Iterator[Finding]:
    """vLLM refuses to start when its share of a card is more than what is free of it; a generic tenant says what it takes."""
    for typed in cards_of(me):
        total, foreign, wanted = total_bytes(typed), typed.card.foreign_bytes, claim(me, typed)
        if total is None or wanted is None or wanted <= total - foreign:
            continue
        left = f"others leave {gib(total - foreign)} of its {gib(total)}" if foreign else f"it has {gib(total)}"
        if me.engine.type is not DialectName.VLLM:
            message = f"the template claims {gib(wanted)} of {card_text(typed)}, and {left}"
            yield Finding("C12", me.name, ("gpus",), message, "take a larger card, or free this one")
        else:
            message = f"{UTILIZATION} {utilization(me):g} asks for {gib(wanted)} of {card_text(typed)}, and {left}"
            hint = f"set {UTILIZATION}: {int((total - foreign) / total * 100) / 100:g} or less, or free the card"
            yield Finding("C12", me.name, ("set", UTILIZATION), message, hint)


def _weights_too_large(me: Candidate) -> Iterator[Finding]:
    """vLLM keeps its part of the weights on each card, unless it is told to leave some of them in the host's memory."""
    offloads = any(flag.startswith(OFFLOAD) for flag in me.flags)
    if me.weights is None or me.weights.size_gb is None or me.engine.type is not DialectName.VLLM or offloads:
        return
    parts = me.tensor * (me.tenant.pipeline or 1)
    part = me.weights.size_gb * 1e9 / parts
    budgets = {typed.card.uuid: utilization(me) * total for typed in cards_of(me) if (total := total_bytes(typed)) is not None}
    small = [typed for typed in cards_of(me) if budgets.get(typed.card.uuid, part) < part]
    if small:
        of_cards = f" on each of {parts} cards" if parts > 1 else ""
        budget = min(budgets.values())
        gives = f"{cards_text(small)} {verb(small, 'gives', 'give')} the engine {gib(budget)}"
        message = f"weights {me.weights_id} alone take {gib(part)}{of_cards}, and {gives} ({UTILIZATION} {utilization(me):g})"
        yield Finding("C12", me.name, ("gpus",), message, "take larger or more cards, or a template with smaller weights")


def utilization(me: Candidate) -> float:
    """The share of each card that vLLM takes: what was set, else the default of its version."""
    value = me.parameters.get(UTILIZATION)
    if isinstance(value, int | float):
        return float(value)
    version = version_of(me)
    return 0.9 if version is not None and version < _HIGHER_DEFAULT_SINCE else 0.92


def claim(me: Candidate, typed: TypedCard) -> int | None:
    """Bytes of a card that an instance takes, None where that is not known before it runs."""
    total = total_bytes(typed)
    if me.engine.type is DialectName.VLLM and total is not None:
        return int(utilization(me) * total)
    return me.vram_claim_bytes


def memory_claims(candidates: Iterable[Candidate]) -> Mapping[str, Mapping[str, int]]:
    """What each instance asks of each of its cards, in bytes by UUID, where that is known before it runs."""
    return {
        me.name: {typed.card.uuid: wanted for typed in cards_of(me) if (wanted := claim(me, typed)) is not None}
        for me in candidates
    }


def _crowded(me: Candidate, view: RigView) -> Iterator[Finding]:
    """Cards whose tenants together leave too little for what none of them counts."""
    for typed in () if me.tenant.exclusive or not me.tenant.running else cards_of(me):
        total, others = total_bytes(typed), [one for one in sharing(view, typed) if one.name != me.name]
        taken = sum(claim(one, typed) or 0 for one in (me, *others)) + typed.card.foreign_bytes
        if total is not None and others and CROWDED * total < taken <= total:
            message = (
                f"{card_text(typed)} is shared with {others[0].name}, and together they take {gib(taken)} of {gib(total)}: "
                f"above {CROWDED:.0%} too little is left for the driver and for CUDA graphs"
            )
            hint = f"lower what one of them takes, by {gib(taken - CROWDED * total)} in all"
            yield Finding("C12", me.name, ("share",), message, hint, Severity.WARNING, other=others[0].name)


def sharing(view: RigView, typed: TypedCard) -> list[Candidate]:
    """The running instances on a card that share it, in the order of the file."""
    return [
        one
        for one in view.candidates
        if one.tenant.running and not one.tenant.exclusive and typed.card.uuid in {c.card.uuid for c in cards_of(one)}
    ]


RULES: Final = (
    Rule(
        "C11",
        "a context that the model was made for",
        Severity.ERROR,
        "vLLM stops at boot (`User-specified max_model_len ... is greater than the derived max_model_len`)",
        "a smaller max_model_len",
        alone=c11_context,
    ),
    Rule(
        "C12",
        "memory enough on every card",
        Severity.ERROR,
        "vLLM does not start when its share of a card's total is more than what is free (`Free memory on device ... is less`),"
        " and two that share a card must stay below 0.95 together",
        "larger cards, a smaller share, or weights that take less",
        in_rig=c12_memory,
    ),
)
