"""What SGLang prints while it boots: phases in order, and the phrases of its failures with what to do."""

from __future__ import annotations

import re
from typing import Final

from controller.dialects.boot_log import Failure, Phase, Tables
from controller.dialects.common_failures import COMMON
from controller.model.track import FaultClass

_SPEC: Final = FaultClass.DETERMINISTIC
_RETRY: Final = FaultClass.TRANSIENT

PHASES: Final = (
    Phase("serving", re.compile(r"The server is fired up and ready to roll")),
    Phase("warming up", re.compile(r"Uvicorn running on|Application startup complete")),
    Phase("engine initialised", re.compile(r"max_total_num_tokens=\d")),
    Phase("capturing CUDA graphs", re.compile(r"Capture (?:\w+ )*cuda graph (?:begin|end)|Capturing batches", re.I)),
    Phase("sizing the KV cache", re.compile(r"KV Cache is allocated|Memory pool end")),
    Phase("weights loaded", re.compile(r"Load weight end")),
    Phase("loading weights", re.compile(r"Load weight begin|Loading \w+ checkpoint shards")),
    Phase("starting", re.compile(r"server_args=ServerArgs\(")),
)

MEMORY: Final = (
    Failure(
        "NoRoomForKvCache",
        re.compile(r"Not enough memory\. Please try to increase --mem-fraction-static"),
        "the weights leave no memory for the KV cache: raise gpu_memory_utilization, or take more cards",
        _SPEC,
    ),
    Failure(
        "CudaGraphsFailed",
        re.compile(r"Capture cuda graph failed: (?P<said>.+)", re.I),
        "the CUDA graphs could not be captured: {said}; lower gpu_memory_utilization or max_num_seqs, or set enforce_eager",
        _SPEC,
    ),
)

MODEL: Final = (
    Failure(
        "CardNotSupported",
        re.compile(r"SGLang only supports sm75 and above"),
        "SGLang needs cards of compute capability 7.5 or newer",
        _SPEC,
    ),
    Failure(
        "WeightsDamaged",
        re.compile(r"Corrupted safetensors file detected|SafetensorError"),
        "a file of the weights is damaged or incomplete: fetch it again",
        _SPEC,
    ),
    Failure(
        "GpuOutOfMemory",
        re.compile(r"torch\.OutOfMemoryError|CUDA out of memory"),
        "a card's memory ran out: lower gpu_memory_utilization, max_num_seqs or max_num_batched_tokens",
        _RETRY,
    ),
)

TAILS: Final = (
    Failure(
        "WarmUpFailed",
        re.compile(r"Initialization failed\. warmup error: ?(?P<said>.*)"),
        "the first request of its own failed {said}",
        _SPEC,
    ),
    Failure(
        "DecodingStalled",
        re.compile(r"couldn't get a response from detokenizer|[Ww]atchdog [Tt]imeout"),
        "the engine gave no token for longer than its own watchdog allows",
        FaultClass.RUNTIME,
    ),
    Failure(
        "EngineAborted",
        re.compile(r"Received sigquit from a child process|SIGQUIT received", re.I),
        "a process of the engine failed and the log names no cause",
        FaultClass.RUNTIME,
    ),
)

TABLES: Final = Tables(
    causes=(*MEMORY, *MODEL),
    common=COMMON,
    tails=TAILS,
    banner=re.compile(r"server_args=ServerArgs\("),
)
