"""The metric names of every engine type, version by version, and which figure of ours each of them shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `figure` is the key of what it shows; with `by` that is a mapping of that label's values to figures."""

    name: str
    kind: str
    figure: str
    labels: str = ""
    by: str = ""


def _families(kind: str, labels: str, words: str) -> tuple[Family, ...]:
    """Families written as `name=figure`, or as `name{label}=figure`."""
    found = []
    for word in words.split():
        name, _, figure = word.partition("=")
        name, _, by = name.removesuffix("}").partition("{")
        found.append(Family(name, kind, figure, labels, by))
    return tuple(found)


_PROCESS: Final = (Family("process_start_time_seconds", "gauge", "started_at"),)

_VLLM_LABELS: Final = 'model_name="{model}",engine="0"'
_VLLM: Final = (
    *_PROCESS,
    *_families("gauge", _VLLM_LABELS, "vllm:num_requests_running=running vllm:num_requests_waiting=waiting"),
    *_families(
        "counter",
        _VLLM_LABELS,
        "vllm:prompt_tokens_total=prompt_tokens vllm:generation_tokens_total=generated_tokens "
        "vllm:num_preemptions_total=preemptions vllm:request_success_total{finished_reason}=finished",
    ),
    *_families("histogram", _VLLM_LABELS, "vllm:time_to_first_token_seconds=ttft vllm:iteration_tokens_total=batch"),
)
_VLLM_SPECULATION: Final = _families(
    "counter",
    _VLLM_LABELS,
    "vllm:spec_decode_num_drafts_total=drafts vllm:spec_decode_num_draft_tokens_total=draft_tokens "
    "vllm:spec_decode_num_accepted_tokens_total=accepted_tokens "
    "vllm:spec_decode_num_accepted_tokens_per_pos_total{position}=accepted_by_position",
)
_VLLM_GPU_CACHE: Final = (
    *_families("gauge", _VLLM_LABELS, "vllm:gpu_cache_usage_perc=kv_usage"),
    *_families(
        "counter",
        _VLLM_LABELS,
        "vllm:gpu_prefix_cache_queries_total=prompt_tokens vllm:gpu_prefix_cache_hits_total=cached_tokens",
    ),
)
_VLLM_KV_CACHE: Final = (
    *_families("gauge", _VLLM_LABELS, "vllm:kv_cache_usage_perc=kv_usage"),
    *_families(
        "counter", _VLLM_LABELS, "vllm:prefix_cache_queries_total=prompt_tokens vllm:prefix_cache_hits_total=cached_tokens"
    ),
)
_VLLM_PER_OUTPUT_TOKEN: Final = _families("histogram", _VLLM_LABELS, "vllm:time_per_output_token_seconds=inter_token")
_VLLM_INTER_TOKEN: Final = _families("histogram", _VLLM_LABELS, "vllm:inter_token_latency_seconds=inter_token")
_VLLM_NEWEST: Final = (
    *_families("histogram", _VLLM_LABELS, "vllm:request_time_per_output_token_seconds=per_token"),
    *_families("gauge", _VLLM_LABELS, "vllm:num_requests_waiting_by_reason{reason}=waiting_by_reason"),
)

_LLAMACPP: Final = (
    *_families(
        "counter",
        "",
        "llamacpp:prompt_tokens_total=prompt_tokens llamacpp:prompt_seconds_total=prompt_seconds "
        "llamacpp:tokens_predicted_total=generated_tokens llamacpp:tokens_predicted_seconds_total=generated_seconds "
        "llamacpp:n_decode_total=steps",
    ),
    *_families(
        "gauge",
        "",
        "llamacpp:prompt_tokens_seconds=prompt_speed llamacpp:predicted_tokens_seconds=generation_speed "
        "llamacpp:requests_processing=running llamacpp:requests_deferred=waiting "
        "llamacpp:n_busy_slots_per_decode=busy_slots_per_step",
    ),
)
_LLAMACPP_NEWEST: Final = _families(
    "counter",
    "",
    "llamacpp:prompt_tokens_cached_total=cached_tokens llamacpp:spec_decode_num_drafts_total=drafts "
    "llamacpp:spec_decode_num_draft_tokens_total=draft_tokens "
    "llamacpp:spec_decode_num_accepted_tokens_total=accepted_tokens "
    "llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position}=accepted_by_position",
)
_LLAMACPP_OLDER: Final = _families("gauge", "", "llamacpp:kv_cache_usage_ratio=kv_usage llamacpp:kv_cache_tokens=kv_tokens")

_SGLANG_MODEL: Final = 'model_name="{model}",engine_type="unified"'
_SGLANG_RANK: Final = f'{_SGLANG_MODEL},tp_rank="0",pp_rank="0",moe_ep_rank="0"'
_SGLANG: Final = (
    *_families(
        "gauge",
        _SGLANG_RANK,
        "sglang:num_running_reqs=running sglang:num_queue_reqs=waiting sglang:token_usage=kv_usage "
        "sglang:num_used_tokens=kv_tokens sglang:gen_throughput=generation_throughput",
    ),
    *_families(
        "counter",
        _SGLANG_RANK,
        "sglang:num_retracted_requests_total=preemptions",
    ),
    *_families(
        "counter",
        _SGLANG_MODEL,
        "sglang:prompt_tokens_total=prompt_tokens sglang:generation_tokens_total=generated_tokens "
        "sglang:cached_tokens_total=cached_tokens sglang:num_requests_total=requests",
    ),
    *_families(
        "histogram", _SGLANG_MODEL, "sglang:time_to_first_token_seconds=ttft sglang:inter_token_latency_seconds=inter_token"
    ),
)

_SIMULATED: Final = (
    *_PROCESS,
    *_families(
        "counter",
        "",
        "simulated:prompt_tokens_total=prompt_tokens simulated:generation_tokens_total=generated_tokens "
        "simulated:generation_seconds_total=generated_seconds simulated:engine_steps_total=steps",
    ),
    *_families(
        "gauge",
        "",
        "simulated:requests_running=running simulated:requests_waiting=waiting simulated:kv_cache_usage_ratio=kv_usage "
        "simulated:generation_tokens_per_second=generation_speed",
    ),
)

NO_METRICS: Final = "none"
TABLES: Final[Mapping[str, Mapping[str, tuple[Family, ...]]]] = MappingProxyType(
    {
        "vllm": {
            "0.33": (*_VLLM, *_VLLM_KV_CACHE, *_VLLM_INTER_TOKEN, *_VLLM_NEWEST),
            "0.11": (*_VLLM, *_VLLM_KV_CACHE, *_VLLM_INTER_TOKEN, *_VLLM_PER_OUTPUT_TOKEN),
            "0.8": (*_VLLM, *_VLLM_GPU_CACHE, *_VLLM_PER_OUTPUT_TOKEN),
        },
        "llamacpp": {"b11549": (*_LLAMACPP, *_LLAMACPP_NEWEST), "b5000": (*_LLAMACPP, *_LLAMACPP_OLDER)},
        "sglang": {"0.5": _SGLANG},
        "generic": {},
        "simulated": {"1": _SIMULATED},
    }
)
"""By engine type and version, the newest first."""
_WITH_DRAFTER: Final = {
    "vllm": _VLLM_SPECULATION,
    "sglang": _families("gauge", _SGLANG_RANK, "sglang:spec_accept_length=accepted_length sglang:spec_accept_rate=acceptance"),
    "simulated": _families(
        "counter", "", "simulated:draft_tokens_total=draft_tokens simulated:accepted_tokens_total=accepted_tokens"
    ),
}


def families(dialect: str, version: str | None, drafter: bool) -> tuple[Family, ...]:
    """The families of a version, None for the newest; none at all where the engine has no metrics."""
    versions = TABLES[dialect]
    if version == NO_METRICS or not versions:
        return ()
    found = versions.get(version or "", next(iter(versions.values())))
    return (*found, *_WITH_DRAFTER.get(dialect, ())) if drafter else found
