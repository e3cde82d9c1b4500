"""The table of parameters: what `set` and templates may say, one name for all engines, with bounds and one sentence each.

A row says which engine types have the parameter; how each of them spells it is in its dialect.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from controller.model.parameter import Checked, Kind, Parameter, Rejected, Value
from controller.model.parameter_check import checked
from controller.model.profile import DialectName

_MODELS: Final = frozenset({DialectName.VLLM, DialectName.LLAMACPP, DialectName.SGLANG})
"""The engine types that load a model."""
_SERVING: Final = _MODELS | {DialectName.SIMULATED}
_GPU_ONLY: Final = frozenset({DialectName.VLLM, DialectName.SGLANG})
_LLAMACPP: Final = frozenset({DialectName.LLAMACPP})
_GENERIC: Final = frozenset({DialectName.GENERIC})
_ALL: Final = frozenset(DialectName)
_MOST_TOKENS: Final = 10_000_000

_ROWS: Final = (
    Parameter(
        "model_path", Kind.MODEL_PATH, "Folder of the model, below the models folder.", _MODELS, also=("model", "model_dir")
    ),
    Parameter("model_file", Kind.FILE_NAME, "GGUF file in the model's folder.", _LLAMACPP, also=("gguf_file", "gguf")),
    Parameter("mmproj_file", Kind.FILE_NAME, "Multimodal projector in the model's folder.", _LLAMACPP, also=("mmproj",)),
    Parameter(
        "served_name",
        Kind.TEXT,
        "Name under which the model is served when the instance lists no served_names.",
        _SERVING,
        also=("served_model_name", "alias", "model_name"),
    ),
    Parameter(
        "tensor_parallel_size",
        Kind.INTEGER,
        "Cards that share each layer.",
        _GPU_ONLY,
        unit="cards",
        low=1,
        high=16,
        also=("tp", "tp_size", "tensor_parallel"),
    ),
    Parameter(
        "pipeline_parallel_size",
        Kind.INTEGER,
        "Stages into which the layers are divided.",
        _GPU_ONLY,
        unit="stages",
        low=1,
        high=16,
        also=("pp", "pp_size", "pipeline_parallel"),
    ),
    Parameter(
        "max_model_len",
        Kind.INTEGER,
        "Context of one request, prompt and answer together.",
        _SERVING,
        unit="tokens",
        low=256,
        high=_MOST_TOKENS,
        also=("context_length", "ctx_size", "ctx", "n_ctx", "max_ctx", "c"),
    ),
    Parameter(
        "max_num_seqs",
        Kind.INTEGER,
        "Requests that run at once; more wait.",
        _SERVING,
        unit="requests",
        low=1,
        high=4096,
        also=("parallel", "np", "n_parallel", "parallel_slots", "max_running_requests"),
    ),
    Parameter(
        "max_num_batched_tokens",
        Kind.INTEGER,
        "Tokens that one engine step may process.",
        _MODELS,
        unit="tokens",
        low=1,
        high=_MOST_TOKENS,
        also=("batch_size", "b", "batch", "chunked_prefill_size"),
    ),
    Parameter(
        "ubatch_size",
        Kind.INTEGER,
        "Tokens that one computation inside a step may process.",
        _LLAMACPP,
        unit="tokens",
        low=1,
        high=_MOST_TOKENS,
        also=("ub", "ubatch"),
    ),
    Parameter(
        "gpu_memory_utilization",
        Kind.NUMBER,
        "Share of each card's total memory that the engine may take.",
        _GPU_ONLY,
        low=0.05,
        high=0.99,
        also=("mem_util", "mem_fraction_static", "gpu_util"),
    ),
    Parameter(
        "kv_cache_dtype",
        Kind.NAME,
        "Format of the KV cache: bf16, fp16, fp8_e4m3, fp8_e5m2, q8_0, q4_0, k8v4 and what else the engine knows.",
        _MODELS,
        also=("kv_format", "kv_type", "kv_dtype", "ctk", "ctv", "cache_type_k", "cache_type_v"),
    ),
    Parameter("dtype", Kind.NAME, "Type of weights and activations.", _GPU_ONLY),
    Parameter("quantization", Kind.NAME, "Quantization method, where the model's files do not say it.", _GPU_ONLY),
    Parameter(
        "spec_method",
        Kind.NAME,
        "Method of speculative decoding, such as mtp, eagle3, ngram or draft_model.",
        _MODELS,
        also=("spec_type", "speculative_algorithm"),
    ),
    Parameter(
        "spec_tokens",
        Kind.INTEGER,
        "Tokens that a draft proposes in a step.",
        _MODELS,
        unit="tokens",
        low=1,
        high=256,
        also=("num_speculative_tokens", "draft_max", "spec_draft_n_max"),
    ),
    Parameter(
        "spec_model",
        Kind.MODEL_PATH,
        "Draft model below the models folder (a GGUF file for llama.cpp).",
        _MODELS,
        also=("draft_model", "model_draft", "md", "spec_draft_model"),
    ),
    Parameter(
        "enable_prefix_caching",
        Kind.BOOLEAN,
        "Keep the KV cache of prompt beginnings for later requests.",
        _GPU_ONLY,
        also=("prefix_caching",),
    ),
    Parameter(
        "enable_chunked_prefill",
        Kind.BOOLEAN,
        "Process long prompts in pieces between other requests.",
        _GPU_ONLY,
        also=("chunked_prefill",),
    ),
    Parameter(
        "enforce_eager",
        Kind.BOOLEAN,
        "Do without CUDA graphs: less memory, slower.",
        _GPU_ONLY,
        also=("eager", "vllm_enforce_eager"),
    ),
    Parameter("trust_remote_code", Kind.BOOLEAN, "Run Python code that comes with the model.", _GPU_ONLY),
    Parameter(
        "tool_call_parser",
        Kind.NAME,
        "How tool calls are read out of answers; llama.cpp reads them by the chat template, whatever the name.",
        _MODELS,
        also=("tool_parser", "jinja"),
    ),
    Parameter(
        "reasoning_parser",
        Kind.NAME,
        "How reasoning is split from answers; for llama.cpp none, auto, deepseek or deepseek-legacy.",
        _MODELS,
        also=("reasoning_format",),
    ),
    Parameter(
        "chat_template",
        Kind.PATH,
        "File of the chat template, below the models folder or anywhere inside the container.",
        _MODELS,
        also=("chat_template_file",),
    ),
    Parameter(
        "gpu_layers",
        Kind.INTEGER,
        "Layers in the cards' memory; more than the model has means all.",
        _LLAMACPP,
        unit="layers",
        low=0,
        high=9999,
        also=("ngl", "n_gpu_layers"),
    ),
    Parameter(
        "flash_attention",
        Kind.CHOICE,
        "Whether flash attention is used; a quantized V cache needs it.",
        _LLAMACPP,
        choices=("on", "off", "auto"),
        also=("fa", "flash_attn"),
    ),
    Parameter("tensor_split", Kind.SHARES, "Share of the model on each card, in the cards' order.", _LLAMACPP, also=("ts",)),
    Parameter(
        "n_cpu_moe",
        Kind.INTEGER,
        "First layers whose experts stay in the host's memory.",
        _LLAMACPP,
        unit="layers",
        low=0,
        high=9999,
        also=("ncmoe", "cpu_moe"),
    ),
    Parameter("api_key", Kind.SECRET, "Key that clients must send; probes send it too.", _SERVING),
    Parameter("attention_backend", Kind.NAME, "Implementation of attention.", _GPU_ONLY),
    Parameter("extra_args", Kind.TEXTS, "Flags that come last, as they are.", _ALL, also=("args", "extra", "flags", "command")),
    Parameter("ready_path", Kind.URL_PATH, "Path that answers 200 once the tenant is ready.", _GENERIC, also=("readiness",)),
    Parameter("container_port", Kind.INTEGER, "Port that the tenant listens on inside.", _GENERIC, low=1, high=65535),
)

PARAMETERS: Final[Mapping[str, Parameter]] = MappingProxyType({row.name: row for row in _ROWS})
"""Every parameter by name."""

_SPELLINGS: Final = {also: row.name for row in _ROWS for also in row.also} | {row.name: row.name for row in _ROWS}


def check_value(name: str, value: object) -> Checked | Rejected:
    """The value as its parameter takes it, or what was expected, what was found and a hint."""
    parameter = PARAMETERS.get(name)
    if parameter is not None:
        return checked(parameter, value)
    near = suggest(name)
    return Rejected("the name of a parameter", name, f"did you mean {near}?" if near else "")


def suggest(name: str) -> str | None:
    """The parameter that somebody probably meant: by another spelling, an engine's flag, or the nearest name."""
    plain = name.strip().lstrip("-").replace("-", "_").lower()
    if found := _SPELLINGS.get(plain):
        return found
    near = difflib.get_close_matches(plain, _SPELLINGS, 1, 0.75)
    return _SPELLINGS[near[0]] if near else None


def parameters_of(dialect: DialectName) -> frozenset[str]:
    """The names that an engine type has."""
    return frozenset(row.name for row in _ROWS if dialect in row.dialects)


__all__ = [
    "PARAMETERS",
    "Checked",
    "Kind",
    "Parameter",
    "Rejected",
    "Value",
    "check_value",
    "parameters_of",
    "suggest",
]
