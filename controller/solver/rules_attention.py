"""Attention backends against KV format, drafter and cards: G3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.problem import Severity
from controller.model.profile_words import DialectName, KvFormat, WeightFormat
from controller.solver.candidate import Candidate, TypedCard
from controller.solver.drafting import is_block_drafter, predicts_ahead
from controller.solver.known import capability, cards_of, cards_text, verb
from controller.solver.kv import FP8, PARAMETER, UNQUANTISED, kv_format
from controller.solver.rule import Rule, Said, holds, skipped
from controller.solver.rules_engine import bundle_of, has_bundle
from controller.solver.tenant import Finding

BACKEND: Final = "attention_backend"
_VERSION: Final = "VLLM_FLASH_ATTN_VERSION"
_HOPPER: Final = 9.0
_AFTER_HOPPER: Final = 10.0
_COEXISTS: Final = frozenset({"vllm-41559", "vllm-42102"})
"""Rows of the upstream tracker that let a block drafter and a quantised KV cache stand side by side."""
_TWO_TYPES: Final = "vllm-40334"
_HALF: Final = frozenset({"float16", "half", "fp16"})


def g3_attention(me: Candidate) -> Iterator[Said]:
    """G3: attention backend, KV format, drafter and cards go together."""
    if me.engine.type is not DialectName.VLLM:
        yield skipped("it is known of vLLM only")
        return
    checks = (_block_drafter, _drafter_type, _three_bits, _new_flash, _flash_fp8, _fp8_twice)
    found = [finding for check in checks for finding in check(me)]
    yield from found or (holds("nothing here that does not go together"),)


def _block_drafter(me: Candidate) -> Iterator[Finding]:
    """A block drafter keeps 16-bit KV, and the pages of the two formats differ."""
    chosen = kv_format(me)
    mended = any(_COEXISTS.intersection(overlay.rows) for overlay in me.overlays)
    if is_block_drafter(me) and chosen is not None and chosen not in UNQUANTISED and not mended:
        message = f"a DFlash drafter keeps 16-bit KV, which does not go with {chosen}: the boot fails (vllm#41559)"
        yield Finding("G3", me.name, ("set", PARAMETER), message, "set kv_cache_dtype: bf16, or draft by MTP")


def _drafter_type(me: Candidate) -> Iterator[Finding]:
    dtype = (me.text("dtype") or "").lower()
    mended = me.engine.pin is not None and _TWO_TYPES in me.engine.pin.contains
    if is_block_drafter(me) and dtype in _HALF and not mended:
        message = f"a DFlash drafter runs in bfloat16 alone, and dtype is {dtype} (vllm#40334)"
        yield Finding("G3", me.name, ("set", "dtype"), message, "set dtype: bfloat16")


def _three_bits(me: Candidate) -> Iterator[Finding]:
    if kv_format(me) is KvFormat.TURBOQUANT_3BIT_NC and predicts_ahead(me) and not has_bundle(me):
        message = "3-bit KV and MTP together write garbage or stop, unless the patch bundle is put on (vllm#40880, vllm#40831)"
        hint = f"write overlays: [{bundle_of(me)}], do without MTP (spec_method: null), or choose another KV format"
        yield Finding("G3", me.name, ("set", PARAMETER), message, hint)


def _new_flash(me: Candidate) -> Iterator[Finding]:
    wanted = _flash_version(me)
    older = [typed for typed in cards_of(me) if (capability(typed) or _HOPPER) < _HOPPER]
    if wanted is not None and older:
        who = f"{cards_text(older)} {verb(older, 'is', 'are')} older"
        message = f"FlashAttention {wanted} needs Hopper or newer (compute capability 9.0), and {who}"
        where = ("set", BACKEND) if me.text(BACKEND) else ("env", _VERSION)
        yield Finding("G3", me.name, where, message, "leave it out: vLLM chooses what the cards have")


def _flash_version(me: Candidate) -> str | None:
    """FlashAttention 3 or 4, where one of them is demanded."""
    name = (me.text(BACKEND) or "").lower().replace("_", "").replace("-", "")
    by_name = next((number for number in "34" if f"fa{number}" in name or name.endswith(f"attn{number}")), None)
    return by_name or (me.env.get(_VERSION) if me.env.get(_VERSION) in ("3", "4") else None)


def _flash_fp8(me: Candidate) -> Iterator[Finding]:
    chosen, name = kv_format(me), (me.text(BACKEND) or "").upper()
    unable = [typed for typed in cards_of(me) if not _is_hopper(typed)]
    if chosen in FP8 and name.startswith("FLASH_ATTN") and "MLA" not in name and unable:
        who = f"{cards_text(unable)} {verb(unable, 'is', 'are')} none"
        message = f"the attention backend {name} reads {chosen} KV on Hopper only, and {who}"
        yield Finding("G3", me.name, ("set", BACKEND), message, "leave attention_backend out, or set kv_cache_dtype: bf16")


def _is_hopper(typed: TypedCard) -> bool:
    value = capability(typed)
    return value is None or _HOPPER <= value < _AFTER_HOPPER


def _fp8_twice(me: Candidate) -> Iterator[Finding]:
    if kv_format(me) is KvFormat.FP8_E5M2 and me.weights is not None and me.weights.format is WeightFormat.FP8:
        message = f"vLLM refuses fp8_e5m2 KV with fp8 weights, and {me.weights_id} are fp8"
        yield Finding("G3", me.name, ("set", PARAMETER), message, "set kv_cache_dtype: fp8_e4m3 or bf16")


RULES: Final = (
    Rule(
        "G3",
        "attention backend, KV format, drafter and cards that go together",
        Severity.ERROR,
        "known of vLLM: DFlash with quantised KV (vllm#41559) or in float16 (vllm#40334), 3-bit KV with MTP and no patch bundle"
        " (vllm#40880), FlashAttention 3 before Hopper, FLASH_ATTN with fp8 KV beside Hopper, fp8_e5m2 KV with fp8 weights",
        "change one of the two, as the finding says",
        alone=g3_attention,
    ),
)
