"""Formats of the KV cache: C4 and C5."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from controller.model.problem import Severity
from controller.model.profile_words import DialectName, KvFormat, WeightFormat
from controller.solver.candidate import Candidate, TypedCard
from controller.solver.known import about_image, by_profile, capability, cards_of, cards_text, listed, no_cards
from controller.solver.kv import PARAMETER, kv_fault, kv_format, written_kv
from controller.solver.rule import Rule, Said, holds, notes, skipped
from controller.solver.tenant import Finding

_PATH: Final = ("set", PARAMETER)
_CONVERTING: Final = 8.6
"""From this compute capability on an attention backend reads fp8_e4m3 KV that the card has no instructions for."""
_MODEL_DRIVEN: Final = ("qwen3-next", "qwen35")
_WIDE: Final = frozenset({WeightFormat.FP8, WeightFormat.MODELOPT, WeightFormat.BF16, WeightFormat.FP16})
_WIDE_IDS: Final = ("fp8", "nvfp4", "bf16", "fp16")


def c4_engine_kv(me: Candidate) -> Iterator[Said]:
    """C4: the engine has the KV format."""
    written, listing = written_kv(me), me.engine.kv_formats
    if written is None:
        yield skipped("the KV cache has the model's own format")
    elif listing is None:
        yield skipped(f"it is not known which KV formats {me.engine.id} has")
    elif kv_format(me) in listing:
        yield holds(f"{me.engine.id} has {', '.join(listing)}")
    else:
        message = f"{me.engine.id} has no KV format {written}{about_image(me)}"
        hint = f"it has {listed(listing)}" if listing else "leave kv_cache_dtype out"
        yield Finding("C4", me.name, _PATH, message, hint, by_profile(me))


def c5_card_kv(me: Candidate) -> Iterator[Said]:
    """C5: every card can work with the KV format; where none was chosen, which one would suit the cards."""
    if (why := no_cards(me)) is not None:
        yield skipped(why)
    elif written_kv(me) is None:
        yield _suited(me)
    elif (fault := kv_fault(me)) is not None:
        yield skipped(fault)
    elif (chosen := kv_format(me)) is not None:
        yield from _on_cards(me, chosen)


def _on_cards(me: Candidate, chosen: KvFormat) -> Iterator[Said]:
    untyped = [typed for typed in cards_of(me) if _formats(typed) is None]
    lacking = [typed for typed in cards_of(me) if chosen not in (_formats(typed) or (chosen,))]
    unable = [typed for typed in lacking if not converts(me, chosen, typed)]
    if unable:
        common = _common(me)
        hint = f"choose one that the engine and all its cards have: {listed(common)}" if common else "leave kv_cache_dtype out"
        yield Finding("C5", me.name, _PATH, f"{cards_text(unable)} cannot work with {chosen} KV", hint)
    elif untyped:
        yield skipped(f"no hardware profile describes {cards_text(untyped)}")
    elif lacking:
        yield notes(f"{cards_text(lacking)}: no {chosen} of its own, the attention backend converts it")
    else:
        yield holds(f"{chosen} on {cards_text(cards_of(me))}")


def converts(me: Candidate, chosen: KvFormat, typed: TypedCard) -> bool:
    """Whether an attention backend takes fp8_e4m3 KV on a card that has no such format: the model decides."""
    new_enough = (capability(typed) or 0.0) >= _CONVERTING
    if chosen is not KvFormat.FP8_E4M3 or not new_enough or me.model is None:
        return False
    wide = me.weights is not None and (me.weights.format in _WIDE or me.weights_id.startswith(_WIDE_IDS))
    return wide or me.model.family.startswith(_MODEL_DRIVEN)


def _formats(typed: TypedCard) -> Sequence[KvFormat] | None:
    return None if typed.profile is None else typed.profile.kv_formats


def _common(me: Candidate) -> list[KvFormat]:
    """Formats that the engine and all cards have, in the engine's order."""
    offered = me.engine.kv_formats or tuple(KvFormat)
    return [one for one in offered if all(one in (_formats(typed) or (one,)) for typed in cards_of(me))]


def _suited(me: Candidate) -> Said:
    if me.engine.type is not DialectName.VLLM or PARAMETER not in me.open_parameters or me.text(PARAMETER):
        return skipped("the KV cache has the model's own format")
    best = suited_kv(me)
    if best is None:
        return skipped("no hardware profile says which KV format suits the cards")
    use = "balanced use" if me.workload is None else me.workload.name.lower()
    message = f"kv_cache_dtype is not set, so the KV cache has the model's own format; {best} would suit {use} on these cards"
    return Finding("C5", me.name, ("set",), message, f"to choose it, write set: {{kv_cache_dtype: {best}}}", Severity.INFO)


def suited_kv(me: Candidate) -> KvFormat | None:
    """The format that the cards' profiles prefer for this use; one that all have when they disagree. None: nobody says."""
    preferred = [typed.profile.preferred_kv_format if typed.profile else None for typed in cards_of(me)]
    wishes = {getattr(one, _use(me)) for one in preferred if one is not None}
    if not wishes or None in preferred:
        return None
    common = _common(me)
    best = wishes.pop() if len(wishes) == 1 else KvFormat.FP8_E5M2
    return next((one for one in (best, KvFormat.FP8_E5M2, KvFormat.BF16) if one in common), None)


def _use(me: Candidate) -> str:
    high = ("high", "max")
    if me.workload is not None and me.workload.priorities.max_context in high:
        return "long_context"
    return "multi_stream" if me.workload is not None and me.workload.priorities.concurrency in high else "balanced"


RULES: Final = (
    Rule(
        "C4",
        "a KV format that the engine has",
        Severity.ERROR,
        "each build takes a list of its own and stops at any other word; the engine's profile has the list of its image",
        "a format of that list, or none",
        alone=c4_engine_kv,
    ),
    Rule(
        "C5",
        "a KV format that every card can work with",
        Severity.ERROR,
        "fp8_e4m3 needs compute capability 8.9; from 8.6 on it works where the model decides on the attention backend"
        " (16-bit, fp8 and nvfp4 weights, Qwen3-Next and Qwen 3.5)",
        "a format that all its cards have",
        alone=c5_card_kv,
    ),
)
