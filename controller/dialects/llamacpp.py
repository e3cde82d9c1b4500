"""llama.cpp's llama-server: its flags, endpoints, metric names, and boot log.

Three flags are always given, because their defaults would hide something: `--metrics` (off), `--slots` (some builds have it
off) and `--fit off` (on, it shrinks the context in silence when memory is short).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from controller.dialects.argv import MODELS, flags, has_flag, in_models, last
from controller.dialects.dialect import Diagnosis, Endpoints, Launch
from controller.dialects.exposition import first
from controller.model.parameters import Value, parameters_of
from controller.model.profile import DialectName
from controller.model.resolved import Secretive

if TYPE_CHECKING:
    from controller.model.observed import EngineMetrics

_MODEL_FLAGS: Final = ("-m", "--model", "-hf", "-hfr", "--hf-repo", "-mu", "--model-url", "--models-dir", "--models-preset")
KV_NAMES: Final = {
    "fp16": ("f16", "f16"),
    "float16": ("f16", "f16"),
    "bfloat16": ("bf16", "bf16"),
    "fp32": ("f32", "f32"),
    "float32": ("f32", "f32"),
    "k8v4": ("q8_0", "q4_0"),
}
"""Formats that are named otherwise here, for K and V; all others have the same name and hold for both."""
SPEC_NAMES: Final = {
    "mtp": "draft-mtp",
    "mtp_gguf": "draft-mtp",
    "eagle3": "draft-eagle3",
    "dflash": "draft-dflash",
    "dspark": "draft-dspark",
    "draft_model": "draft-simple",
    "ngram": "ngram-simple",
}
SIZES: Final = (
    ("max_num_batched_tokens", "-b"),
    ("ubatch_size", "-ub"),
    ("gpu_layers", "-ngl"),
    ("flash_attention", "-fa"),
    ("tensor_split", "--tensor-split"),
    ("n_cpu_moe", "--n-cpu-moe"),
)


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """The dialect of llama-server."""

    name: DialectName = DialectName.LLAMACPP
    endpoints: Endpoints = Endpoints("/health", "/v1/models", "/v1/completions", "/metrics")
    supported: frozenset[str] = parameters_of(DialectName.LLAMACPP)

    def missing(self, launch: Launch) -> tuple[str, ...]:
        """The model file: without one llama-server would wait as a router that serves nothing."""
        named = "model_file" in launch.parameters or has_flag(last(launch), _MODEL_FLAGS)
        return () if named else ("model_file",)

    def argv(self, launch: Launch) -> tuple[Secretive, ...]:
        """What to serve, where to listen, how large, in which formats, then the rest."""
        given = launch.parameters
        return (
            *_files(given),
            *(("--alias", ",".join(launch.served_names)) if launch.served_names else ()),
            *("--host", "0.0.0.0", "--port", str(launch.container_port)),
            *_context(given),
            *flags(given, SIZES),
            *_kv_cache(given),
            *_speculation(given),
            *_template(given),
            *("--metrics", "--slots", "--fit", "off"),
            *flags(given, (("api_key", "--api-key"),)),
            *last(launch),
        )

    def metrics(self, samples: Mapping[str, float]) -> EngineMetrics:
        """The figures that llama-server counts; only older builds have the use of the KV cache among them."""
        from controller.model.observed import EngineMetrics

        usage = first(samples, "llamacpp:kv_cache_usage_ratio")
        return EngineMetrics(
            generation_tokens=first(samples, "llamacpp:tokens_predicted_total"),
            prompt_tokens=first(samples, "llamacpp:prompt_tokens_total"),
            running=first(samples, "llamacpp:requests_processing"),
            waiting=first(samples, "llamacpp:requests_deferred"),
            kv_usage=None if usage is None else min(usage, 1.0),
            steps=first(samples, "llamacpp:n_decode_total"),
            generation_seconds=first(samples, "llamacpp:tokens_predicted_seconds_total"),
            draft_tokens=first(samples, "llamacpp:spec_decode_num_draft_tokens_total"),
            accepted_tokens=first(samples, "llamacpp:spec_decode_num_accepted_tokens_total"),
        )

    def phase(self, lines: Sequence[str]) -> str:
        """The last phase that the log names."""
        from controller.dialects.boot_log import last_phase
        from controller.dialects.llamacpp_log import PHASES

        return last_phase(PHASES, lines)

    def diagnose(self, lines: Sequence[str]) -> Diagnosis | None:
        """The root cause above llama-server's generic last lines."""
        from controller.dialects.boot_log import diagnosis
        from controller.dialects.llamacpp_log import TABLES

        return diagnosis(TABLES, lines)


def _files(given: Mapping[str, Value]) -> tuple[str, ...]:
    folder = in_models(given["model_path"]) if "model_path" in given else MODELS
    model = ("-m", f"{folder}/{given['model_file']}") if "model_file" in given else ()
    return (*model, *(("--mmproj", f"{folder}/{given['mmproj_file']}") if "mmproj_file" in given else ()))


def _context(given: Mapping[str, Value]) -> tuple[str, ...]:
    """llama-server divides `-c` among its slots; their number is always given, because a build's own choice may be four."""
    slots, length = given.get("max_num_seqs", 1), given.get("max_model_len")
    context = ("-c", str(length * slots)) if isinstance(length, int) and isinstance(slots, int) else ()
    return (*context, "-np", str(slots))


def _kv_cache(given: Mapping[str, Value]) -> tuple[str, ...]:
    if "kv_cache_dtype" not in given:
        return ()
    written = str(given["kv_cache_dtype"])
    if written == "auto":
        return ()
    key, value = KV_NAMES.get(written, (written, written))
    return ("-ctk", key, "-ctv", value)


def _speculation(given: Mapping[str, Value]) -> tuple[Secretive, ...]:
    method = str(given.get("spec_method", ""))
    return (
        *(("--spec-type", SPEC_NAMES.get(method, method)) if method else ()),
        *(("-md", in_models(given["spec_model"])) if "spec_model" in given else ()),
        *flags(given, (("spec_tokens", "--spec-draft-n-max"),)),
    )


def _template(given: Mapping[str, Value]) -> tuple[Secretive, ...]:
    """Tool calls and templates of one's own need `--jinja`, before the file's flag; newer builds have it on anyway."""
    jinja = ("--jinja",) if "tool_call_parser" in given or "chat_template" in given else ()
    file = ("--chat-template-file", in_models(given["chat_template"])) if "chat_template" in given else ()
    return (*jinja, *file, *flags(given, (("reasoning_parser", "--reasoning-format"),)))
