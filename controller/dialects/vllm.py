"""vLLM: its flags, endpoints, metric names across versions, and boot log.

The model is given as `--model`: the entry point `vllm serve` of newer images accepts it with a warning, and the entry point of
older ones (`python3 -m vllm.entrypoints.openai.api_server`) knows nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from controller.dialects.argv import flags, has_flag, in_models, last
from controller.dialects.dialect import Diagnosis, Endpoints, Launch
from controller.dialects.exposition import first
from controller.model.parameters import Value, parameters_of
from controller.model.profile import DialectName
from controller.model.resolved import Secretive

if TYPE_CHECKING:
    from controller.model.observed import EngineMetrics

SHUTDOWN_TIMEOUT_S: Final = 20
"""How long vLLM may finish running requests after TERM; by default it aborts them at once. Below the 30 s that `drain.term`
gives before KILL, so that it still ends by itself.
"""
SHUTDOWN_TIMEOUT_SINCE: Final = (0, 18, 0)
"""First release with `--shutdown-timeout`: 0.15 does not have it, 0.20 does, and KServe passes it from 0.18.0 on."""

_RELEASE: Final = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
KV_NAMES: Final = {"bf16": "bfloat16", "fp16": "float16", "f16": "float16"}
_MODEL_FLAGS: Final = ("--model", "--config")

PARALLEL: Final = (
    ("tensor_parallel_size", "--tensor-parallel-size"),
    ("pipeline_parallel_size", "--pipeline-parallel-size"),
    ("max_model_len", "--max-model-len"),
    ("max_num_seqs", "--max-num-seqs"),
    ("max_num_batched_tokens", "--max-num-batched-tokens"),
    ("gpu_memory_utilization", "--gpu-memory-utilization"),
)
FORMATS: Final = (
    ("dtype", "--dtype"),
    ("quantization", "--quantization"),
    ("attention_backend", "--attention-backend"),
)
ON_OR_OFF: Final = (
    ("enable_prefix_caching", "--enable-prefix-caching", "--no-enable-prefix-caching"),
    ("enable_chunked_prefill", "--enable-chunked-prefill", "--no-enable-chunked-prefill"),
)
"""On by default since V1, so that false needs a flag of its own."""
SWITCHES: Final = (("enforce_eager", "--enforce-eager"), ("trust_remote_code", "--trust-remote-code"))
"""Off by default in every version, so that false needs no flag."""


@dataclass(frozen=True, slots=True)
class Vllm:
    """The dialect of vLLM."""

    name: DialectName = DialectName.VLLM
    endpoints: Endpoints = Endpoints("/health", "/v1/models", "/v1/completions", "/metrics")
    supported: frozenset[str] = parameters_of(DialectName.VLLM)

    def missing(self, launch: Launch) -> tuple[str, ...]:
        """The model: without one vLLM would fetch and serve a small default model."""
        named = "model_path" in launch.parameters or has_flag(last(launch), _MODEL_FLAGS)
        return () if named else ("model_path",)

    def argv(self, launch: Launch) -> tuple[Secretive, ...]:
        """Where to listen, what to serve, how large, in which formats, then the rest."""
        given = launch.parameters
        return (
            *("--host", "0.0.0.0", "--port", str(launch.container_port)),
            *(("--model", in_models(given["model_path"])) if "model_path" in given else ()),
            *(("--served-model-name", *launch.served_names) if launch.served_names else ()),
            *flags(given, PARALLEL),
            *_kv_cache(given),
            *flags(given, FORMATS),
            *_speculation(given),
            *_switches(given),
            *_parsers(given),
            *flags(given, (("api_key", "--api-key"),)),
            *_shutdown(launch.image),
            *last(launch),
        )

    def metrics(self, samples: Mapping[str, float]) -> EngineMetrics:
        """The figures under the names of 0.8 to 0.33; vLLM's exporter appends `_total` to counters, others may not."""
        from controller.model.observed import EngineMetrics

        usage = first(samples, "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
        return EngineMetrics(
            generation_tokens=first(samples, "vllm:generation_tokens_total", "vllm:generation_tokens"),
            prompt_tokens=first(samples, "vllm:prompt_tokens_total", "vllm:prompt_tokens"),
            running=first(samples, "vllm:num_requests_running"),
            waiting=first(samples, "vllm:num_requests_waiting"),
            kv_usage=None if usage is None else min(usage, 1.0),
            steps=first(samples, "vllm:iteration_tokens_total_count"),
            draft_tokens=_drafts(samples, "draft"),
            accepted_tokens=_drafts(samples, "accepted"),
            process_start=first(samples, "process_start_time_seconds"),
        )

    def phase(self, lines: Sequence[str]) -> str:
        """The last phase that the log names."""
        from controller.dialects.boot_log import last_phase
        from controller.dialects.vllm_log import PHASES

        return last_phase(PHASES, lines)

    def diagnose(self, lines: Sequence[str]) -> Diagnosis | None:
        """The root cause above vLLM's generic last lines."""
        from controller.dialects.boot_log import diagnosis
        from controller.dialects.vllm_log import TABLES

        return diagnosis(TABLES, lines)


def _drafts(samples: Mapping[str, float], which: str) -> float | None:
    name = f"vllm:spec_decode_num_{which}_tokens"
    return first(samples, f"{name}_total", name)


def _kv_cache(given: Mapping[str, Value]) -> tuple[str, ...]:
    if "kv_cache_dtype" not in given:
        return ()
    written = str(given["kv_cache_dtype"])
    return ("--kv-cache-dtype", KV_NAMES.get(written, written))


def _speculation(given: Mapping[str, Value]) -> tuple[str, ...]:
    config: dict[str, Value] = {}
    if "spec_method" in given:
        config["method"] = given["spec_method"]
    if "spec_model" in given:
        config["model"] = in_models(given["spec_model"])
    if "spec_tokens" in given:
        config["num_speculative_tokens"] = given["spec_tokens"]
    return ("--speculative-config", json.dumps(config, sort_keys=True)) if config else ()


def _switches(given: Mapping[str, Value]) -> tuple[str, ...]:
    found = [on if given[name] else off for name, on, off in ON_OR_OFF if name in given]
    return (*found, *(flag for name, flag in SWITCHES if given.get(name)))


def _parsers(given: Mapping[str, Value]) -> tuple[Secretive, ...]:
    template = ("--chat-template", in_models(given["chat_template"])) if "chat_template" in given else ()
    tools = ("--enable-auto-tool-choice",) if "tool_call_parser" in given else ()
    names = (("tool_call_parser", "--tool-call-parser"), ("reasoning_parser", "--reasoning-parser"))
    return (*tools, *flags(given, names), *template)


def _shutdown(image: str) -> tuple[str, ...]:
    """The shutdown timeout where the tag is a plain release that has it; what a nightly or a digest alone has is not known."""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    match = _RELEASE.fullmatch(tag)
    known = match is not None and tuple(int(part) for part in match.groups()) >= SHUTDOWN_TIMEOUT_SINCE
    return ("--shutdown-timeout", str(SHUTDOWN_TIMEOUT_S)) if known else ()
