"""Ceilings below the configured context that no boot shows: G10."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from controller.model.problem import Severity
from controller.model.profile_words import DialectName
from controller.solver.candidate import Candidate, RigView
from controller.solver.card_memory import nominal_bytes
from controller.solver.drafting import methods
from controller.solver.known import GIB, cards_of, no_cards
from controller.solver.kv import kv_format
from controller.solver.rule import Rule, Said, holds, skipped
from controller.solver.tenant import Finding

if TYPE_CHECKING:
    from controller.model.profile_limit import AppliesTo, LimitProfile, Tokens

_TEXT_ONLY: Final = "--language-model-only"


def g10_limits(me: Candidate, view: RigView) -> Iterator[Said]:
    """G10: the context stays below every ceiling that is known of such a setup."""
    if me.model is None:
        yield skipped("the template names no model")
    elif not (suspects := [limit for limit in view.limits if matches(me, limit.applies_to)]):
        yield holds("no ceiling is known of such a setup")
    elif any(limit.applies_to.card_memory_gib_max for limit in suspects) and (why := no_cards(me)) is not None:
        yield skipped(why)
    else:
        near = [limit for limit in suspects if fits_cards(me, limit.applies_to)]
        found = [finding for limit in near for finding in _reached(me, limit)]
        yield from found or (holds("below every ceiling that is known of such a setup"),)


def matches(me: Candidate, what: AppliesTo) -> bool:
    """Whether a limit is about such a setup, whatever its cards are."""
    if me.model is None or me.engine.type not in what.engine_types:
        return False
    return all(
        (
            not what.families or me.model.family in what.families,
            not what.models or me.model.id in what.models,
            what.tp is None or what.tp == me.tensor,
            what.cards is None or what.cards == me.tenant.card_count,
            not what.kv_formats or kv_format(me) in what.kv_formats,
            not what.drafter_methods or bool(methods(me).intersection(what.drafter_methods)),
            what.vision is None or what.vision is sees(me),
            not {overlay.id for overlay in me.overlays}.intersection(what.without_overlays),
        )
    )


def sees(me: Candidate) -> bool | None:
    """Whether the instance takes images; None where that is not known."""
    if me.engine.type is DialectName.LLAMACPP:
        return "mmproj_file" in me.parameters
    if _TEXT_ONLY in me.flags:
        return False
    return None if me.model is None else me.model.vision


def fits_cards(me: Candidate, what: AppliesTo) -> bool:
    """Whether the smallest card is among those that a limit is about."""
    if what.card_memory_gib_max is None:
        return True
    sizes = [size for typed in cards_of(me) if (size := nominal_bytes(typed.card, typed.profile)) is not None]
    return bool(sizes) and min(sizes) <= what.card_memory_gib_max * GIB


def _reached(me: Candidate, limit: LimitProfile) -> Iterator[Finding]:
    length = me.number("max_model_len") or (me.model.max_context_tokens if me.model else None)
    ceiling = _ceiling(limit)
    if length is None or length <= ceiling:
        return
    message = f"{limit.title}: {_seen(limit)}, and max_model_len is {length}. Evidence: {limit.evidence[0]}"
    yield Finding("G10", me.name, ("set", "max_model_len"), message, " Or: ".join(limit.way_out), Severity.WARNING)


def _ceiling(limit: LimitProfile) -> int:
    """The largest context that is known to hold."""
    if limit.max_model_len is not None:
        return limit.max_model_len.holds
    return min(tokens.low for tokens in (limit.accumulated, limit.single_prompt) if tokens is not None)


def _seen(limit: LimitProfile) -> str:
    parts = []
    if limit.max_model_len is not None:
        parts.append(f"{limit.max_model_len.holds} tokens hold and {limit.max_model_len.fails} do not")
    if limit.accumulated is not None:
        parts.append(f"it fails at {_range(limit.accumulated)} tokens of a conversation")
    if limit.single_prompt is not None:
        parts.append(f"it fails at {_range(limit.single_prompt)} tokens of one prompt")
    return ", ".join(parts)


def _range(tokens: Tokens) -> str:
    return str(tokens.low) if tokens.low == tokens.high else f"{tokens.low} to {tokens.high}"


RULES: Final = (
    Rule(
        "G10",
        "a context below the ceilings that are known",
        Severity.WARNING,
        "some setups boot with a context that they cannot serve to its end: `profiles/limits/` has each with its evidence",
        "as the limit says: fewer tokens, more cards, or another engine",
        in_rig=g10_limits,
    ),
)
