"""G3 and G9: settings against each other."""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller.model.profile_engine import Pin
from controller.model.profile_words import DrafterMethod, WeightFormat
from controller.model.verdict import Outcome
from tests.unit.judging import (
    TWO,
    Case,
    Group,
    candidate,
    cards,
    drafter,
    drafting,
    holds_case,
    llama,
    model,
    overlay,
    serving,
    vllm,
    weights,
)

BLOCKS: Final = drafter(id="model-dflash", method=DrafterMethod.DFLASH)
BUNDLE: Final = overlay("genesis", mechanism="patch_bundle")
BESIDE: Final = overlay("dflash-int8", upstream=["vllm-41559"])


def given(**parameters: Any) -> dict[str, Any]:
    """Parameters."""
    return {"parameters": parameters}


G3: Final = Group("G3")
G3.passes("nothing special", serving(), "nothing here that does not go together")
G3.passes("a block drafter with 16-bit KV", drafting(by=BLOCKS, **given(kv_cache_dtype="fp16")))
G3.passes("3-bit KV without MTP", serving(**given(kv_cache_dtype="turboquant_3bit_nc")))
G3.passes("3-bit KV with MTP and the bundle", drafting(overlays=(BUNDLE,), **given(kv_cache_dtype="turboquant_3bit_nc")))
G3.passes(
    "fp8_e4m3 KV with fp8 weights",
    serving(served=model(weights={"int4": weights(format=WeightFormat.FP8)}), **given(kv_cache_dtype="fp8")),
)
G3.passes(
    "FLASH_ATTN with fp8 KV on Hopper",
    serving(cards("h100-80gb"), **given(attention_backend="FLASH_ATTN", kv_cache_dtype="fp8")),
)
G3.edge(
    "an overlay that lets a block drafter have int8",
    Outcome.HOLDS,
    drafting(by=BLOCKS, overlays=(BESIDE,), **given(kv_cache_dtype="int8_per_token_head")),
)
G3.edge(
    "FlashAttention 3 on the first card that has it",
    Outcome.HOLDS,
    serving(cards("h100-80gb"), **given(attention_backend="FLASH_ATTN_3")),
)
G3.edge(
    "float16 on a build that mends it",
    Outcome.HOLDS,
    drafting(by=BLOCKS, engine=vllm(pin=Pin(contains=("vllm-40334",))), **given(dtype="float16")),
)
G3.fails(
    "a block drafter with quantised KV", drafting(by=BLOCKS, **given(kv_cache_dtype="fp8_e5m2")), "does not go with fp8_e5m2"
)
G3.fails("a block drafter in float16", drafting(by=BLOCKS, **given(dtype="float16")), "runs in bfloat16 alone")
G3.fails("3-bit KV with MTP and no bundle", drafting(**given(kv_cache_dtype="turboquant_3bit_nc")), "write garbage or stop")
G3.fails("FlashAttention 3 on Ampere", serving(**given(attention_backend="FLASH_ATTN_3")), "needs Hopper or newer")
G3.fails("FlashAttention 3 by the environment", serving(env={"VLLM_FLASH_ATTN_VERSION": "3"}), "FlashAttention 3")
G3.fails(
    "FLASH_ATTN with fp8 KV on Ampere",
    serving(**given(attention_backend="FLASH_ATTN", kv_cache_dtype="fp8_e5m2")),
    "on Hopper only",
)
G3.fails(
    "fp8_e5m2 KV with fp8 weights",
    serving(served=model(weights={"int4": weights(format=WeightFormat.FP8)}), **given(kv_cache_dtype="fp8_e5m2")),
    "refuses fp8_e5m2",
)
G3.skips("another type of engine", candidate(engine=llama()), "known of vLLM only")

PIECES: Final[dict[str, Any]] = {"enable_chunked_prefill": False, "max_model_len": 8192}
G9: Final = Group("G9")
G9.passes("nothing special", candidate(), "no two settings contradict each other")
G9.passes("a short step with chunked prefill", candidate(**given(max_num_batched_tokens=2048, max_model_len=8192)))
G9.passes("a flag that is no parameter", candidate(flags=("--seed", "1")))
G9.passes("a flag of another type of engine", candidate(flags=("--tensor-split", "1,1")))
G9.edge("a step that takes the whole context", Outcome.HOLDS, candidate(**given(max_num_batched_tokens=8192, **PIECES)))
G9.edge("a step one token short", Outcome.BROKEN, candidate(**given(max_num_batched_tokens=8191, **PIECES)))
G9.edge("as many drafted tokens as the drafter makes", Outcome.HOLDS, drafting(**given(spec_tokens=4)))
G9.edge("one drafted token more", Outcome.WARNS, drafting(**given(spec_tokens=5)))
G9.edge("a token for each sequence", Outcome.HOLDS, candidate(**given(max_num_batched_tokens=256, max_num_seqs=256)))
G9.fails(
    "a short step without chunked prefill",
    candidate(**given(max_num_batched_tokens=2048, **PIECES)),
    "is less than max_model_len 8192",
)
G9.fails(
    "fewer tokens than sequences", candidate(**given(max_num_batched_tokens=64, max_num_seqs=256)), "wants a token for each"
)
G9.fails(
    "another quantization than the weights have",
    serving(served=model(weights={"int4": weights(format=WeightFormat.AWQ)}), **given(quantization="gptq_marlin")),
    "does not match weights int4, which are awq",
)
G9.fails("drafted tokens and nobody who drafts", candidate(**given(spec_tokens=3)), "neither spec_method nor spec_model")
G9.fails("too many drafted tokens", drafting(**given(spec_tokens=8)), "made for: 4", Outcome.WARNS)
G9.fails(
    "a V cache without flash attention",
    candidate(engine=llama(), **given(flash_attention="off", kv_cache_dtype="q8_0")),
    "needs it",
)
G9.fails(
    "an inner batch above the outer",
    candidate(engine=llama(), **given(ubatch_size=1024, max_num_batched_tokens=512)),
    "in silence",
    Outcome.WARNS,
)
G9.fails(
    "shares for other cards",
    candidate(TWO, engine=llama(), **given(tensor_split=("1", "1", "1"))),
    "3 shares, and the instance has 2 cards",
    Outcome.WARNS,
)
G9.fails("a parameter as a flag", candidate(flags=("--max-model-len=65536",)), "goes past the rules", Outcome.WARNS)
G9.fails(
    "a parameter by its short flag",
    candidate(engine=llama(), flags=("-c", "65536")),
    "judge the parameter max_model_len",
    Outcome.WARNS,
)

CASES: Final = (*G3.cases, *G9.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given an instance, when it is judged, then the rule says what the case says."""
    holds_case(case)
