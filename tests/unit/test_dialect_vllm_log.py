"""The boot logs of vLLM: phases, and what a failed boot says about its cause."""

from __future__ import annotations

import pytest

from controller.dialects.registry import dialect
from controller.model.profile import DialectName
from controller.model.track import FaultClass

VLLM = dialect(DialectName.VLLM)

BOOT = (
    "(APIServer pid=1) INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version 0.20.0",
    "\rLoading safetensors checkpoint shards:  33% Completed | 1/3\rLoading safetensors checkpoint shards: 67% Completed | 2/3",
    "(EngineCore pid=9) INFO 01-02 03:04:05 [default_loader.py:1] Loading weights took 3.10 seconds",
    "(EngineCore pid=9) INFO 01-02 03:04:05 [backends.py:1] torch.compile takes 14.20 s in total",
    "(EngineCore pid=9) INFO 01-02 03:04:05 [kv_cache_utils.py:1] GPU KV cache size: 120,000 tokens",
    "(EngineCore pid=9) INFO 01-02 03:04:05 [model_runner.py:1] Graph capturing finished in 9 secs, took 0.50 GiB",
    "(EngineCore pid=9) INFO [core.py:1] init engine (profile, create kv cache, warmup model) took 41.00 seconds",
    "(APIServer pid=1) INFO 01-02 03:04:05 [api_server.py:1] Starting vLLM API server 0 on http://0.0.0.0:8000",
    "(APIServer pid=1) INFO:     Application startup complete.",
)


@pytest.mark.parametrize(
    ("count", "phase"),
    [
        (0, ""),
        (1, "starting"),
        (2, "loading weights"),
        (3, "weights loaded"),
        (4, "compiling"),
        (5, "sizing the KV cache"),
        (6, "capturing CUDA graphs"),
        (7, "engine initialised"),
        (8, "starting the API server"),
        (9, "serving"),
    ],
)
def test_phases_follow_the_log(count: int, phase: str) -> None:
    """Given the first lines of a boot, when its phase is asked for, then it is the last one that they name."""
    assert VLLM.phase((*BOOT[:count], "a line that says nothing", "")) == phase


FAILURES = [
    (
        "ValueError: Free memory on device cuda:0 (0.31/23.56 GiB) on startup is less than desired GPU memory utilization "
        "(0.92, 21.68 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        "VramHeld",
        FaultClass.ENVIRONMENT,
        "only 0.31 of 23.56 GiB are free on a card and gpu_memory_utilization 0.92 asks for 21.68 GiB",
    ),
    (
        "ValueError: Free memory on device (0.31/23.56 GiB) on startup is less than desired GPU memory utilization "
        "(0.92, 21.68 GiB).",
        "VramHeld",
        FaultClass.ENVIRONMENT,
        "only 0.31 of 23.56 GiB",
    ),
    (
        "ValueError: To serve at least one request with the models's max seq len (262144), (8.00 GiB KV cache is needed, which "
        "is larger than the available KV cache memory (4.21 GiB). Based on the available memory, the estimated maximum model "
        "length is 137952. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        "MaxModelLenTooLarge",
        FaultClass.DETERMINISTIC,
        "max_model_len 262144 needs 8.00 GiB of KV cache and 4.21 GiB are there; "
        "the engine estimates that max_model_len 137952 fits",
    ),
    (
        "ValueError: To serve at least one request with the model's max seq len (262144), 8.00 GiB KV cache is needed, which "
        "is larger than the available KV cache memory (4.21 GiB).",
        "MaxModelLenTooLarge",
        FaultClass.DETERMINISTIC,
        "max_model_len 262144 needs 8.00 GiB of KV cache and 4.21 GiB are there",
    ),
    (
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
        "NoRoomForKvCache",
        FaultClass.DETERMINISTIC,
        "raise gpu_memory_utilization",
    ),
    (
        "AssertionError: Error in memory profiling. Initial free memory 10.0 GiB, current free memory 12.0 GiB.",
        "MemoryChanged",
        FaultClass.TRANSIENT,
        "another process",
    ),
    (
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering "
        "`max_num_seqs` or `gpu_memory_utilization`.",
        "MaxNumSeqsTooLarge",
        FaultClass.DETERMINISTIC,
        "to sample 1024 requests at once",
    ),
    (
        "  Value error, User-specified max_model_len (131072) is greater than the derived max_model_len "
        "(max_position_embeddings=40960 or model_max_length=None in model's config.json).",
        "MaxModelLenAboveModel",
        FaultClass.DETERMINISTIC,
        "its limit is 40960",
    ),
    (
        "ValueError: Total number of attention heads (14) must be divisible by tensor parallel size (4).",
        "TensorParallelMismatch",
        FaultClass.DETERMINISTIC,
        "tensor_parallel_size 4 does not divide the model's 14 attention heads",
    ),
    (
        "  Value error, The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. "
        "Current capability: 86.",
        "QuantizationUnsupported",
        FaultClass.DETERMINISTIC,
        "is not supported for the current GPU. Minimum capability: 89. Current capability: 86",
    ),
    (
        "ValueError: Unknown quantization method: auto_rond. Must be one of ['awq', 'gptq'].",
        "QuantizationUnsupported",
        FaultClass.DETERMINISTIC,
        "Unknown quantization method: auto_rond",
    ),
    (
        "ValueError: World size (2) is larger than the number of available GPUs (1) in this node.",
        "TooFewCards",
        FaultClass.DETERMINISTIC,
        "is 2, the container sees fewer cards",
    ),
    (
        "ValueError: invalid literal for int() with base 10: 'GPU-5157e3a0-0000'",
        "GpuUuidInEnvironment",
        FaultClass.DETERMINISTIC,
        "CUDA_VISIBLE_DEVICES",
    ),
    (
        "KeyError: 'invalid tool call parser: qwen4 (chose from { hermes,qwen3_coder })'",
        "UnknownParser",
        FaultClass.DETERMINISTIC,
        "no tool call parser qwen4; it has hermes,qwen3_coder",
    ),
    (
        "huggingface_hub.errors.GatedRepoError: 403 Client Error. Cannot access gated repo for url x",
        "ModelAccessDenied",
        FaultClass.DETERMINISTIC,
        "HF_TOKEN",
    ),
    (
        "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': "
        "'/models/qwen'.",
        "ModelNotFound",
        FaultClass.DETERMINISTIC,
        "'/models/qwen'; look at model_path",
    ),
    (
        "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata",
        "WeightsDamaged",
        FaultClass.TRANSIENT,
        "fetch it again",
    ),
    (
        "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "CardLinkFailed",
        FaultClass.TRANSIENT,
        "NCCL_P2P_DISABLE=1",
    ),
    (
        "RuntimeError: vLLM failed to compile the model. The most likely reason is a corrupted compilation artifact.",
        "CompileCacheDamaged",
        FaultClass.TRANSIENT,
        "compile cache",
    ),
    (
        "ValueError: Model architectures ['FooForCausalLM'] are not supported for now.",
        "ModelUnsupported",
        FaultClass.DETERMINISTIC,
        "['FooForCausalLM']",
    ),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB. GPU 0 has a total capacity of 23.56 GiB",
        "GpuOutOfMemory",
        FaultClass.TRANSIENT,
        "it asked for 594.00 MiB more",
    ),
    (
        "api_server.py: error: unrecognized arguments: --no-such-flag 3",
        "UnknownArgument",
        FaultClass.DETERMINISTIC,
        "does not know the argument --no-such-flag",
    ),
    (
        "vllm serve: error: argument --kv-cache-dtype: invalid choice: 'q8_0' (choose from 'auto', 'bfloat16', 'fp8')",
        "InvalidArgument",
        FaultClass.DETERMINISTIC,
        "refuses the value of --kv-cache-dtype: invalid choice: 'q8_0'",
    ),
    (
        "OSError: [Errno 98] Address already in use",
        "PortTaken",
        FaultClass.ENVIRONMENT,
        "in use",
    ),
    (
        "PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface/hub'",
        "PermissionDenied",
        FaultClass.DETERMINISTIC,
        "'/root/.cache/huggingface/hub'",
    ),
    ("ValueError: something that no table knows.", "EngineError", FaultClass.DETERMINISTIC, "something that no table knows"),
]
TRACE = (
    '(EngineCore pid=9) ERROR 01-02 03:04:06 [core.py:700]   File "/usr/lib/vllm/v1/engine/core.py", line 12, in run',
    "(EngineCore pid=9) ERROR 01-02 03:04:06 [core.py:700]     raise exception",
)
TAIL = (
    "(APIServer pid=1) Traceback (most recent call last):",
    "(APIServer pid=1)     raise RuntimeError('Engine core initialization failed.')",
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'Core': 1}",
)


@pytest.mark.parametrize(("line", "reason", "fault", "says"), FAILURES, ids=[f"{n}-{f[1]}" for n, f in enumerate(FAILURES)])
def test_a_failure_is_found_above_the_generic_tail(line: str, reason: str, fault: FaultClass, says: str) -> None:
    """Given a failed boot as vLLM prints it, when it is diagnosed, then the cause is named with what to do, never the tail."""
    cause = f"\x1b[31m(EngineCore pid=9) ERROR 01-02 03:04:06 [core.py:700]\x1b[0m {line}"
    found = VLLM.diagnose((*BOOT[:4], *TRACE, cause, *TAIL))
    assert found is not None
    assert (found.reason, found.fault) == (reason, fault)
    assert says in found.message
    assert "{" not in found.message


def test_a_tail_alone_names_no_cause() -> None:
    """Given only generic last lines, when they are diagnosed, then the answer says that the log names no cause."""
    found = VLLM.diagnose((*BOOT[:2], *TAIL))
    assert found is not None
    assert found.reason == "EngineStartFailed"
    assert "names no cause" in found.message


def test_death_at_run_time_is_a_runtime_fault() -> None:
    """Given an engine that served and died, when its log is diagnosed, then it is a runtime death."""
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above)."
    found = VLLM.diagnose((*BOOT, dead))
    assert found is not None
    assert (found.reason, found.fault) == ("EngineDied", FaultClass.RUNTIME)


def test_the_newest_boot_in_a_log_counts() -> None:
    """Given two boots in one log, when the second failed for another reason, then the first one's reason is not told."""
    held = FAILURES[0][0]
    found = VLLM.diagnose((*BOOT[:2], held, *TAIL, *BOOT[:2], "ValueError: something else", *TAIL))
    assert found is not None
    assert (found.reason, found.message) == ("EngineError", "ValueError: something else")


def test_a_warning_before_the_error_is_not_the_reason() -> None:
    """Given a harmless permission warning, when the boot then fails for something unknown, then that is the reason."""
    lines = (*BOOT[:1], "WARNING usage_lib: [Errno 13] Permission denied: '/root/.config'", "KeyError: 'model.layers.0'", *TAIL)
    found = VLLM.diagnose(lines)
    assert found is not None
    assert found.message == "KeyError: 'model.layers.0'"


@pytest.mark.parametrize("lines", [(), ("",), BOOT, ("Killed by the weather",)])
def test_a_log_without_a_failure_gives_no_reason(lines: tuple[str, ...]) -> None:
    """Given a log that names no failure, when it is diagnosed, then there is no reason to tell."""
    assert VLLM.diagnose(lines) is None
