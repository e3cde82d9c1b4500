"""What llama-server prints while it boots: phases in order, and the phrases of its failures with what to do."""

from __future__ import annotations

import re
from typing import Final

from controller.dialects.boot_log import Failure, Phase, Tables
from controller.dialects.common_failures import COMMON
from controller.model.track import FaultClass

_SPEC: Final = FaultClass.DETERMINISTIC
_RETRY: Final = FaultClass.TRANSIENT
_WANTED: Final = re.compile(r"allocating (?P<wanted>[\d.]+) MiB on device (?P<device>\d+)")
_ASKED: Final = "it asked for {wanted} MiB on its card {device}"

PHASES: Final = (
    Phase("serving", re.compile(r"listening on http|server is listening on|all slots are idle")),
    Phase("model loaded", re.compile(r"\bmodel loaded\b")),
    Phase("preparing slots", re.compile(r"initializing slots|n_slots = |new slot")),
    Phase("warming up", re.compile(r"warming up the model")),
    Phase("allocating the KV cache", re.compile(r"llama_kv_cache|KV buffer size|compute buffer size|llama_context:")),
    Phase("loading weights", re.compile(r"load_tensors|model buffer size|offloaded \d+/\d+ layers|^\.{3,}$")),
    Phase("reading the model file", re.compile(r"loading model|llama_model_loader|print_info:")),
    Phase("downloading", re.compile(r"download", re.I)),
    Phase("starting", re.compile(r"ggml_cuda_init|load_backend|system_info|^build(?:_info)?: ")),
)

MEMORY: Final = (
    Failure(
        "NoRoomForKvCache",
        re.compile(r"failed to allocate buffer for kv cache", re.I),
        "the KV cache does not fit: lower max_model_len or max_num_seqs, or use a smaller kv_cache_dtype",
        _RETRY,
        _WANTED,
        _ASKED,
    ),
    Failure(
        "NoRoomForCompute",
        re.compile(r"failed to (?:allocate|reserve)(?: \w+)* compute (?:\w+ )?buffers"),
        "the compute buffers do not fit: lower ubatch_size or max_model_len",
        _RETRY,
        _WANTED,
        _ASKED,
    ),
    Failure(
        "GpuOutOfMemory",
        re.compile(r"cudaMalloc failed: out of memory|CUDA error: out of memory|unable to allocate CUDA\d* buffer"),
        "a card's memory ran out: lower gpu_layers or max_model_len, raise n_cpu_moe, or use smaller weights",
        _RETRY,
        _WANTED,
        _ASKED,
    ),
)

MODEL: Final = (
    Failure(
        "ModelNotFound",
        re.compile(r"failed to open (?:GGUF )?file:? '?(?P<file>[^'\s()]+)"),
        "cannot open {file}: look at model_path and model_file below rig.paths.models",
        _SPEC,
    ),
    Failure(
        "ModelUnsupported",
        re.compile(r"unknown model architecture: '(?P<name>[^']*)'"),
        "this build does not know the model's architecture {name}: take a newer image",
        _SPEC,
    ),
    Failure(
        "WeightsDamaged",
        re.compile(r"invalid magic|not within the file bounds|corrupted or incomplete|failed to read magic"),
        "the model file is no GGUF file, damaged or incomplete: fetch it again",
        _SPEC,
    ),
    Failure(
        "FlashAttentionNeeded",
        re.compile(r"V cache quantization requires flash_attn", re.I),
        "a quantized V cache needs flash attention: set flash_attention: on, or kv_cache_dtype: fp16",
        _SPEC,
    ),
    Failure(
        "DraftModelFailed",
        re.compile(r"failed to load draft model(?P<said>.*)"),
        "the draft model cannot be loaded{said}: look at spec_model",
        _SPEC,
    ),
    Failure("ModelLoadFailed", re.compile(r"error loading model: (?P<said>.+)"), "the model cannot be loaded: {said}", _SPEC),
)

TAILS: Final = (
    Failure(
        "ModelLoadFailed",
        re.compile(r"(?:unable|failed) to load model|failed to create_?\s?context|due to model loading error"),
        "the model could not be loaded and the log names no cause",
        _SPEC,
    ),
    Failure(
        "CudaError",
        re.compile(r"CUDA error: (?P<said>.+)"),
        "the engine aborted on a CUDA error: {said}",
        FaultClass.RUNTIME,
    ),
    Failure(
        "EngineAborted",
        re.compile(r"(?P<said>GGML_ASSERT\(.*|GGML_ABORT.*)"),
        "the engine aborted on an inner check: {said}",
        FaultClass.RUNTIME,
    ),
    Failure(
        "ServerFailed",
        re.compile(r"exiting due to HTTP server error"),
        "the HTTP server of the engine ended and the log names no cause",
        _SPEC,
    ),
)

TABLES: Final = Tables(
    causes=(*MEMORY, *MODEL),
    common=COMMON,
    tails=TAILS,
    banner=re.compile(r"^build(?:_info)?: |\bsystem_info: "),
    plain=re.compile(r"(?i)\b(?P<said>error: \S.*)"),
)
