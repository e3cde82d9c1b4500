"""SGLang: its flags, endpoints, metric names and boot log.

Its images start no server of themselves: the template's entrypoint names the program, and the argv is what follows.
"""

from __future__ import annotations

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

_MODEL_FLAGS: Final = ("--model-path", "--model", "--config")
SIZES: Final = (
    ("tensor_parallel_size", "--tp-size"),
    ("pipeline_parallel_size", "--pp-size"),
    ("max_model_len", "--context-length"),
    ("max_num_seqs", "--max-running-requests"),
    ("gpu_memory_utilization", "--mem-fraction-static"),
)
FORMATS: Final = (
    ("dtype", "--dtype"),
    ("quantization", "--quantization"),
    ("attention_backend", "--attention-backend"),
)
PARSERS: Final = (("tool_call_parser", "--tool-call-parser"), ("reasoning_parser", "--reasoning-parser"))
KV_NAMES: Final = {"fp16": "auto", "float16": "auto"}
"""It has no name for 16-bit floats: `auto` is the type that the model computes in."""
SPEC_NAMES: Final = {
    "mtp": "NEXTN",
    "eagle3": "EAGLE3",
    "dflash": "DFLASH",
    "ngram": "NGRAM",
    "draft_model": "STANDALONE",
}
IN_ONE_STEP: Final = frozenset({"dflash", "ngram"})
"""Methods that propose all tokens at once; the others take a step for each, and count one more than they propose."""


@dataclass(frozen=True, slots=True)
class SgLang:
    """The dialect of SGLang."""

    name: DialectName = DialectName.SGLANG
    endpoints: Endpoints = Endpoints("/health", "/v1/models", "/v1/completions", "/metrics")
    supported: frozenset[str] = parameters_of(DialectName.SGLANG)

    def missing(self, launch: Launch) -> tuple[str, ...]:
        """The model, without which it does not start."""
        named = "model_path" in launch.parameters or has_flag(last(launch), _MODEL_FLAGS)
        return () if named else ("model_path",)

    def argv(self, launch: Launch) -> tuple[Secretive, ...]:
        """Where to listen, what to serve, how large, in which formats, then the rest; it serves one name alone."""
        given = launch.parameters
        return (
            *("--host", "0.0.0.0", "--port", str(launch.container_port)),
            *(("--model-path", in_models(given["model_path"])) if "model_path" in given else ()),
            *(("--served-model-name", launch.served_names[0]) if launch.served_names else ()),
            *flags(given, SIZES),
            *_chunks(given),
            *_kv_cache(given),
            *flags(given, FORMATS),
            *_speculation(given),
            *_switches(given),
            *flags(given, PARSERS),
            *(("--chat-template", in_models(given["chat_template"])) if "chat_template" in given else ()),
            "--enable-metrics",
            *flags(given, (("api_key", "--api-key"),)),
            *last(launch),
        )

    def metrics(self, samples: Mapping[str, float]) -> EngineMetrics:
        """The figures under the names of 0.4.6 to 0.5; drafts are exported as averages only."""
        from controller.model.observed import EngineMetrics

        usage = first(samples, "sglang:token_usage")
        return EngineMetrics(
            generation_tokens=first(samples, "sglang:generation_tokens_total"),
            prompt_tokens=first(samples, "sglang:prompt_tokens_total"),
            running=first(samples, "sglang:num_running_reqs"),
            waiting=first(samples, "sglang:num_queue_reqs"),
            kv_usage=None if usage is None else min(usage, 1.0),
            steps=first(samples, "sglang:forward_execution_seconds_total", "sglang:generation_tokens_total"),
            process_start=first(samples, "process_start_time_seconds"),
        )

    def phase(self, lines: Sequence[str]) -> str:
        """The last phase that the log names."""
        from controller.dialects.boot_log import last_phase
        from controller.dialects.sglang_log import PHASES

        return last_phase(PHASES, lines)

    def diagnose(self, lines: Sequence[str]) -> Diagnosis | None:
        """The root cause above the signals with which one process takes the others down."""
        from controller.dialects.boot_log import diagnosis
        from controller.dialects.sglang_log import TABLES

        return diagnosis(TABLES, lines)


def _chunks(given: Mapping[str, Value]) -> tuple[Secretive, ...]:
    """The size of a chunk is also its switch."""
    if given.get("enable_chunked_prefill") is False:
        return ("--chunked-prefill-size=-1",)
    return flags(given, (("max_num_batched_tokens", "--chunked-prefill-size"),))


def _kv_cache(given: Mapping[str, Value]) -> tuple[str, ...]:
    if "kv_cache_dtype" not in given:
        return ()
    written = str(given["kv_cache_dtype"])
    return ("--kv-cache-dtype", KV_NAMES.get(written, written))


def _speculation(given: Mapping[str, Value]) -> tuple[str, ...]:
    method, tokens = str(given.get("spec_method", "")), given.get("spec_tokens")
    counts: tuple[str, ...] = ()
    if isinstance(tokens, int):
        steps = ("--speculative-num-steps", str(tokens), "--speculative-eagle-topk", "1")
        in_one_step = method in IN_ONE_STEP
        counts = (*(() if in_one_step else steps), "--speculative-num-draft-tokens", str(tokens + (not in_one_step)))
    return (
        *(("--speculative-algorithm", SPEC_NAMES.get(method, method)) if method else ()),
        *(("--speculative-draft-model-path", in_models(given["spec_model"])) if "spec_model" in given else ()),
        *counts,
    )


def _switches(given: Mapping[str, Value]) -> tuple[str, ...]:
    return (
        *(("--disable-radix-cache",) if given.get("enable_prefix_caching") is False else ()),
        *(("--disable-cuda-graph",) if given.get("enforce_eager") else ()),
        *(("--trust-remote-code",) if given.get("trust_remote_code") else ()),
    )
