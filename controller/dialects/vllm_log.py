"""What vLLM prints while it boots, from 0.8 on: phases in order, and the phrases of its failures with what to do."""

from __future__ import annotations

import re
from typing import Final

from controller.dialects.boot_log import Failure, Phase, Tables
from controller.dialects.common_failures import COMMON
from controller.model.track import FaultClass

_SPEC: Final = FaultClass.DETERMINISTIC
_RETRY: Final = FaultClass.TRANSIENT
_SURROUNDINGS: Final = FaultClass.ENVIRONMENT

PHASES: Final = (
    Phase("starting", re.compile(r"vLLM API server version|non-default args: |Initializing a V1 LLM engine", re.I)),
    Phase("serving", re.compile(r"Application startup complete")),
    Phase("starting the API server", re.compile(r"Starting vLLM API server")),
    Phase("engine initialised", re.compile(r"init engine \(profile, create kv cache, warmup model\) took")),
    Phase("capturing CUDA graphs", re.compile(r"Capturing (?:CUDA|cudagraph)|Graph capturing|CUDA graph shapes", re.I)),
    Phase("sizing the KV cache", re.compile(r"KV cache size: |Available KV cache memory: |Maximum concurrency for ")),
    Phase("compiling", re.compile(r"torch\.compile|Dynamo bytecode transform|Compiling a graph", re.I)),
    Phase("weights loaded", re.compile(r"Loading weights took|Model loading took")),
    Phase("loading weights", re.compile(r"Loading \w+ checkpoint shards|Starting to load model|Loading model from scratch")),
)

MEMORY: Final = (
    Failure(
        "VramHeld",
        re.compile(
            r"Free memory on device\b[^(]*\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than desired "
            r"GPU memory utilization \((?P<share>[\d.]+), (?P<wanted>[\d.]+) GiB\)"
        ),
        "only {free} of {total} GiB are free on a card and gpu_memory_utilization {share} asks for {wanted} GiB",
        _SURROUNDINGS,
    ),
    Failure(
        "MaxModelLenTooLarge",
        re.compile(
            r"To serve at least one request with the models?'s max seq len \((?P<length>[\d,]+)\),? "
            r"\(?(?P<needed>[\d.]+ \wi?B) KV cache is needed, which is larger than the available KV cache memory "
            r"\((?P<available>[\d.]+ \wi?B)\)"
        ),
        "max_model_len {length} needs {needed} of KV cache and {available} are there",
        _SPEC,
        re.compile(r"estimated maximum model length is (?P<fits>[\d,]*\d)"),
        "the engine estimates that max_model_len {fits} fits",
    ),
    Failure(
        "NoRoomForKvCache",
        re.compile(r"No available memory for the cache blocks"),
        "weights and activations leave no memory for the KV cache: raise gpu_memory_utilization, or take more cards",
        _SPEC,
    ),
    Failure(
        "MemoryChanged",
        re.compile(r"Error in memory profiling"),
        "another process took or gave back memory of the card while the engine measured it",
        _RETRY,
    ),
    Failure(
        "MaxNumSeqsTooLarge",
        re.compile(r"out of memory occurred when warming up sampler with (?P<count>[\d,]+) dummy requests"),
        "no memory is left to sample {count} requests at once: lower max_num_seqs or gpu_memory_utilization",
        _SPEC,
    ),
)

MODEL: Final = (
    Failure(
        "MaxModelLenAboveModel",
        re.compile(r"User-specified max_model_len \((?P<length>[\d,]+)\) is greater than the derived max_model_len"),
        "max_model_len {length} is above what the model was made for",
        _SPEC,
        re.compile(r"greater than the derived max_model_len \((?:\w+=)?(?P<limit>\d+)"),
        "its limit is {limit}",
    ),
    Failure(
        "TensorParallelMismatch",
        re.compile(
            r"Total number of attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size \((?P<size>\d+)\)"
        ),
        "tensor_parallel_size {size} does not divide the model's {heads} attention heads",
        _SPEC,
    ),
    Failure(
        "QuantizationUnsupported",
        re.compile(
            r"(?P<said>Unknown quantization method.*|Quantization method specified in the model config.*does not match.*|"
            r"[^.:]*is not supported for (?:the current GPU|quantization method).*)"
        ),
        "the engine cannot use these weights: {said}",
        _SPEC,
    ),
    Failure(
        "TooFewCards",
        re.compile(r"World size \((?P<size>\d+)\) is larger than the number of (?:\w+ )*GPUs(?: \((?P<cards>\d+)\))?"),
        "tensor_parallel_size x pipeline_parallel_size is {size}, the container sees fewer cards",
        _SPEC,
    ),
    Failure(
        "GpuUuidInEnvironment",
        re.compile(r"invalid literal for int\(\) with base 10: 'GPU-"),
        "CUDA_VISIBLE_DEVICES holds a UUID, which this version cannot read: remove it from env",
        _SPEC,
    ),
    Failure(
        "UnknownParser",
        re.compile(r"invalid (?P<kind>tool call|reasoning) parser: (?P<name>\S+)"),
        "this version has no {kind} parser {name}",
        _SPEC,
        re.compile(r"invalid (?:tool call|reasoning) parser: .*?\{(?P<names>[^}]+)\}"),
        "it has {names}",
    ),
    Failure(
        "ModelAccessDenied",
        re.compile(r"401 Client Error|GatedRepoError|trying to access a gated repo|Cannot access gated repo"),
        "the hub refuses access to the model: set env HF_TOKEN to a secret with a token that may read it",
        _SPEC,
    ),
    Failure(
        "ModelNotFound",
        re.compile(
            r"(?P<said>Repository Not Found.*|\S+ does not appear to have a file named.*|\S+ is not a local folder.*|"
            r"Repo id must be in the form.*|Invalid repository ID or local directory.*)"
        ),
        "there is no such model: {said}; look at model_path below rig.paths.models",
        _SPEC,
    ),
    Failure(
        "WeightsDamaged",
        re.compile(r"SafetensorError|Error while deserializing header|\.incomplete\b"),
        "a file of the weights is damaged or incomplete: fetch it again",
        _RETRY,
    ),
    Failure(
        "CompileCacheDamaged",
        re.compile(r"corrupted compilation artifact|vLLM failed to compile the model"),
        "the compile cache of this image may be damaged: remove it and start again",
        _RETRY,
    ),
    Failure(
        "ModelUnsupported",
        re.compile(r"Model architectures? (?P<names>\[.*?\]) (?:failed to be inspected|are not supported)"),
        "this version of the engine does not know the model's architecture {names}",
        _SPEC,
    ),
)

CARDS: Final = (
    Failure(
        "CardLinkFailed",
        re.compile(r"(?P<said>NCCL error[^.]*|nccl\w+Error[^.]*)"),
        "the cards cannot talk to each other ({said}): try env NCCL_P2P_DISABLE=1, --disable-custom-all-reduce, more shm",
        _RETRY,
    ),
    Failure(
        "GpuOutOfMemory",
        re.compile(r"torch(?:\.cuda)?\.OutOfMemoryError|CUDA out of memory|CUDA error: out of memory"),
        "a card's memory ran out: lower gpu_memory_utilization, max_num_seqs or max_model_len, or set enforce_eager",
        _RETRY,
        re.compile(r"Tried to allocate (?P<wanted>[\d.]+ \wi?B)"),
        "it asked for {wanted} more",
    ),
)

TAILS: Final = (
    Failure(
        "EngineDied",
        re.compile(r"(?P<said>EngineDeadError|EngineCore encountered a[n ][^.]*|Worker proc \S+ died unexpectedly)"),
        "the engine core ended ({said}) and the log names no cause",
        FaultClass.RUNTIME,
    ),
    Failure(
        "EngineStartFailed",
        re.compile(r"Engine core initialization failed|Engine process failed to start|WorkerProc initialization failed"),
        "the engine core did not start and the log names no cause",
        _SPEC,
    ),
    Failure(
        "WorkerStuck",
        re.compile(r"No available shared memory broadcast block found"),
        "one worker waits for another that does not answer: the cards may not be able to talk to each other",
        _RETRY,
    ),
)

TABLES: Final = Tables(
    causes=(*MEMORY, *MODEL, *CARDS), common=COMMON, tails=TAILS, banner=re.compile(r"vLLM API server version")
)
