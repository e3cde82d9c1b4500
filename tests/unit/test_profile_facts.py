"""Facts of the profiles that come with Steward, by sample: what rules and users rely on stays as it was recorded."""

from __future__ import annotations

from typing import Final

from controller.model.profile_words import DialectName, DrafterMethod, KvFormat, Maturity
from tests.unit.profiles import DRAFTERS, ENGINES, HARDWARE, LIMITS, MODELS, UPSTREAM, WORKLOADS

GIB: Final = 2**30


def test_facts_of_cards() -> None:
    """Given cards that users run, when their profiles are read, then the known facts are there and the unknown absent."""
    measured = {name: card.usable_gib for name, card in HARDWARE.items() if card.usable_gib is not None}
    assert measured == {
        "rtx-3090": 23.56,
        "rtx-4090": 23.52,
        "rtx-5090": 31.84,
        "rtx-6000-pro-blackwell": 94.97,
        "a100-40gb": 39.5,
        "l40s": 44.42,
        "h100-80gb": 79.19,
    }
    card = HARDWARE["rtx-3090"]
    assert (card.power_limit_w.efficient, card.power_limit_w.prefill_efficient, card.power_limit_w.maximum) == (290, 250, 350)
    assert card.preferred_kv_format is not None
    assert card.preferred_kv_format.long_context is KvFormat.TURBOQUANT_3BIT_NC
    assert KvFormat.FP8_E4M3 not in (card.kv_formats or ())
    assert HARDWARE["rtx-3060-12gb"].safe_memory_utilization == 0.88
    assert HARDWARE["rtx-5080"].safe_memory_utilization is None
    assert HARDWARE["rtx-3080-20gb"].describes("NVIDIA GeForce RTX 3080", 20 * GIB)


def test_facts_of_engines() -> None:
    """Given engines that templates use, when their profiles are read, then builds, features and holds are as recorded."""
    current, bundle = ENGINES["vllm-stable"], ENGINES["vllm-nightly-mtp"]
    assert (current.image, current.version) == ("vllm/vllm-openai:v0.27.1", "0.27.1")
    assert current.features["int8_per_token_head"] is True
    assert KvFormat.TURBOQUANT_3BIT_NC not in (current.kv_formats or ())
    assert (bundle.patch_bundle.required, bundle.patch_bundle.pin) == (True, "v7.72.2")
    assert bundle.pin is not None
    assert (bundle.pin.free_to_move, bundle.pin.revision) == (False, "01d4d1ad")
    assert ENGINES["vllm-stable-next"].features["qwen3_coder_tool_parser"] == "stable_only"
    assert ENGINES["llama-cpp-mainline"].drafter_methods == ()
    assert ENGINES["sglang-generic"].channel == "experimental"


def test_facts_of_models() -> None:
    """Given models that templates serve, when their profiles are read, then geometry and weights are as recorded."""
    large, hybrid, experts = MODELS["gemma-4-31b"], MODELS["qwen3.6-27b"], MODELS["gemma-4-26b-a4b"]
    assert large.architecture.full_attention is not None
    assert (large.architecture.full_attention.kv_heads, large.architecture.full_attention.head_dim) == (4, 512)
    assert large.architecture.sliding_attention is not None
    assert (large.architecture.sliding_attention.kv_heads, large.architecture.sliding_attention.window) == (16, 1024)
    assert hybrid.architecture.linear_attention is not None
    assert hybrid.architecture.linear_attention.layers == 48
    assert (hybrid.default_weights, len(hybrid.weights), hybrid.valid_tp) == ("autoround_int4", 23, (1, 2, 4))
    assert hybrid.patch_bundle_kv_formats == (KvFormat.TURBOQUANT_3BIT_NC,)
    blocked = experts.weights["autoround_int4_mixed"].blocked
    assert blocked is not None
    assert 8.6 in blocked.capabilities
    assert experts.weights["awq_compressed_tensors"].status is Maturity.HISTORICAL
    assert MODELS["gemma-4-31b"].weights["google_qat_w4a16"].revision == "52f3f65bc7a02d555763bc923bd1d9094898219d"
    unknown = MODELS["nemotron-3-puzzle-75b"].architecture.full_attention
    assert unknown is not None
    assert unknown.layers is None


def test_facts_of_drafters_and_workloads() -> None:
    """Given drafters and workloads, when they are read, then tokens, sizes and priorities are as recorded."""
    assert (DRAFTERS["tess-mtp-builtin"].tokens_default, DRAFTERS["tess-mtp-builtin"].tokens_max) == (3, 8)
    assert (DRAFTERS["gemma-dflash"].memory_gb, DRAFTERS["gemma-dflash"].method) == (2.9, DrafterMethod.DFLASH)
    assert DRAFTERS["unsloth-mtp-gguf"].engine_type is DialectName.LLAMACPP
    assert not any(name.startswith("anbeeld") for name in DRAFTERS)
    assert WORKLOADS["vision-coding"].priorities.vision == "required"
    assert WORKLOADS["fast-chat"].defaults.max_num_seqs == 4


def test_facts_of_limits() -> None:
    """Given the limit of hybrids on one card, when it is read, then its ceilings and its conditions are as measured."""
    limit = LIMITS["vllm-qwen3-next-one-card"]
    assert limit.accumulated is not None
    assert limit.single_prompt is not None
    assert (limit.accumulated.low, limit.accumulated.high) == (21000, 26000)
    assert (limit.single_prompt.low, limit.single_prompt.high) == (50000, 60000)
    assert (limit.applies_to.engine_types, limit.applies_to.tp) == ((DialectName.VLLM,), 1)
    assert limit.applies_to.card_memory_gib_max == 24


def test_facts_of_the_tracker() -> None:
    """Given rows whose fate is known, when they are read, then releases that have or lack them are named."""
    rows = {row.id: row for row in UPSTREAM.upstream}
    assert {name: row.native_since for name, row in rows.items() if row.native_since} == {
        "vllm-41800": "0.22.0",
        "vllm-40361": "0.24.0",
        "vllm-41991": "0.22.0",
        "vllm-40886": "0.22.0",
        "llamacpp-22673": "b9246",
    }
    assert (rows["vllm-40391"].missing_in, rows["vllm-42006"].missing_in) == ("0.24.0", "0.22.0")
    assert rows["vllm-35936"].deferred_because is None
