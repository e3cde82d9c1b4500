"""The dialect of SGLang: argv, metrics, boot log. Nothing here was tried on a card."""

from __future__ import annotations

import pytest

from controller.dialects.dialect import Launch, Value
from controller.dialects.exposition import samples
from controller.dialects.registry import dialect
from controller.model.fields import SecretRef
from controller.model.observed import EngineMetrics
from controller.model.profile import DialectName
from controller.model.track import FaultClass
from controller.simulation.engine.config import configure
from controller.simulation.engine.counts import Counts
from controller.simulation.engine.figures import Load, figures
from controller.simulation.engine.metric_tables import families
from controller.simulation.engine.metrics import page
from tests.unit.argv_text import argv_text

SGLANG = dialect(DialectName.SGLANG)
EVERYTHING: dict[str, Value] = {
    "model_path": "qwen3-8b",
    "tensor_parallel_size": 2,
    "pipeline_parallel_size": 1,
    "max_model_len": 32768,
    "max_num_seqs": 16,
    "max_num_batched_tokens": 4096,
    "gpu_memory_utilization": 0.85,
    "kv_cache_dtype": "fp8_e5m2",
    "dtype": "bfloat16",
    "quantization": "awq",
    "attention_backend": "flashinfer",
    "spec_method": "eagle3",
    "spec_model": "qwen3-8b-eagle3",
    "spec_tokens": 3,
    "enable_prefix_caching": False,
    "enforce_eager": True,
    "trust_remote_code": True,
    "tool_call_parser": "qwen25",
    "reasoning_parser": "qwen3",
    "chat_template": "t.jinja",
    "api_key": SecretRef(secret="KEY"),
    "extra_args": ("--log-level", "info"),
}


def argv(**given: Value) -> str:
    """The argv of these parameters alone, as text."""
    return argv_text(SGLANG.argv(Launch(given, (), 8000, "sglang:1")))


def test_golden_argv() -> None:
    """Given every parameter, when the argv is built, then it is this text, with one served name."""
    launch = Launch(EVERYTHING, ("chat", "other"), 8000, "sglang:1", ("--watchdog-timeout", "600"))
    assert (
        argv_text(SGLANG.argv(launch))
        == """\
--host 0.0.0.0
--port 8000
--model-path /models/qwen3-8b
--served-model-name chat
--tp-size 2
--pp-size 1
--context-length 32768
--max-running-requests 16
--mem-fraction-static 0.85
--chunked-prefill-size 4096
--kv-cache-dtype fp8_e5m2
--dtype bfloat16
--quantization awq
--attention-backend flashinfer
--speculative-algorithm EAGLE3
--speculative-draft-model-path /models/qwen3-8b-eagle3
--speculative-num-steps 3
--speculative-eagle-topk 1
--speculative-num-draft-tokens 4
--disable-radix-cache
--disable-cuda-graph
--trust-remote-code
--tool-call-parser qwen25
--reasoning-parser qwen3
--chat-template /models/t.jinja
--enable-metrics
--api-key <secret KEY>
--watchdog-timeout 600
--log-level info
"""
    )


def test_what_is_not_set_is_left_to_the_engine() -> None:
    """Given no parameter, or switches at their defaults, when the argv is built, then only what is always given is there."""
    always = "--host 0.0.0.0\n--port 8000\n--enable-metrics\n"
    assert argv() == always
    assert argv(enable_prefix_caching=True, enable_chunked_prefill=True, enforce_eager=False, trust_remote_code=False) == always


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"enable_chunked_prefill": False, "max_num_batched_tokens": 512}, "--chunked-prefill-size=-1"),
        ({"kv_cache_dtype": "bf16"}, "--kv-cache-dtype bf16"),
        ({"kv_cache_dtype": "fp16"}, "--kv-cache-dtype auto"),
        ({"spec_method": "mtp"}, "--speculative-algorithm NEXTN"),
        ({"spec_method": "ngram", "spec_tokens": 8}, "--speculative-num-draft-tokens 8"),
    ],
)
def test_words_that_sglang_spells_otherwise(given: dict[str, Value], line: str) -> None:
    """Given a value in the profiles' words, when the argv is built, then SGLang's own word is there."""
    assert line in argv(**given).splitlines()


def test_a_model_is_needed() -> None:
    """Given no model, when it is asked what is missing, then it is the model's folder, unless a flag names it."""
    assert SGLANG.missing(Launch({}, (), 8000, "sglang:1")) == ("model_path",)
    assert SGLANG.missing(Launch({}, (), 8000, "sglang:1", ("--model-path", "org/model"))) == ()


def test_the_simulated_engine_takes_that_argv() -> None:
    """Given the argv, when the simulated engine reads it in this dialect's manner, then sizes, name and key are as meant."""
    words = [word if isinstance(word, str) else "key" for word in SGLANG.argv(Launch(EVERYTHING, ("chat",), 8000, "sglang:1"))]
    config = configure(["--dialect", "sglang", *words], {})
    assert (config.names, config.context, config.slots, config.api_key) == (("chat",), 32768, 16, "key")


def test_metrics() -> None:
    """Given a page's samples, when they are mapped, then each figure has its place, and a share over 1 is capped."""
    found = {
        "sglang:generation_tokens_total": 30.0,
        "sglang:prompt_tokens_total": 10.0,
        "sglang:num_running_reqs": 2.0,
        "sglang:num_queue_reqs": 1.0,
        "sglang:token_usage": 1.2,
    }
    assert SGLANG.metrics(found) == EngineMetrics(30.0, 10.0, 2.0, 1.0, 1.0, 30.0)
    assert SGLANG.metrics({"sglang:forward_execution_seconds_total": 5.0, **found}).steps == 5.0
    assert SGLANG.metrics({}) == EngineMetrics()


def test_metrics_of_the_simulated_engine_are_understood() -> None:
    """Given a page of the simulated engine in this manner, when it is mapped, then the basic figures are there."""
    counts = Counts()
    counts.prefill(10, 0.1, 0.1)
    counts.decode(30, 0.01, 30, None)
    text = page(families("sglang", None, drafter=False), figures(counts, Load(2, 1, 100, 1000), None), "chat")
    found = SGLANG.metrics(samples(text))
    assert (found.running, found.waiting, found.generation_tokens, found.prompt_tokens) == (2.0, 1.0, 30.0, 10.0)
    assert found.steps == 30.0


BOOT = (
    ("[2026-01-02] server_args=ServerArgs(model_path='/models/m')", "starting"),
    ("[2026-01-02] Load weight begin. avail mem=23.20 GB", "loading weights"),
    ("[2026-01-02] Load weight end. elapsed=9.00 s, type=LlamaForCausalLM, mem usage=15.00 GB.", "weights loaded"),
    ("[2026-01-02] KV Cache is allocated. #tokens: 40000, K size: 1.50 GB, V size: 1.50 GB", "sizing the KV cache"),
    ("[2026-01-02] Capture cuda graph begin. avail mem=4.00 GB", "capturing CUDA graphs"),
    ("[2026-01-02] max_total_num_tokens=40000, chunked_prefill_size=2048", "engine initialised"),
    ("[2026-01-02] Uvicorn running on http://0.0.0.0:8000", "warming up"),
    ("[2026-01-02] The server is fired up and ready to roll!", "serving"),
)


def test_phases_of_a_boot() -> None:
    """Given a boot log line by line, when the phase is asked for, then it goes from starting to serving."""
    lines = [line for line, _ in BOOT]
    assert [SGLANG.phase(lines[: count + 1]) for count in range(len(BOOT))] == [phase for _, phase in BOOT]


@pytest.mark.parametrize(
    ("line", "reason", "fault"),
    [
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "NoRoomForKvCache",
            FaultClass.DETERMINISTIC,
        ),
        ("Exception: Capture cuda graph failed: CUDA out of memory.", "CudaGraphsFailed", FaultClass.DETERMINISTIC),
        ("RuntimeError: SGLang only supports sm75 and above.", "CardNotSupported", FaultClass.DETERMINISTIC),
        ("Corrupted safetensors file detected: m.safetensors", "WeightsDamaged", FaultClass.DETERMINISTIC),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "GpuOutOfMemory", FaultClass.TRANSIENT),
        ("Initialization failed. warmup error: HTTP 500", "WarmUpFailed", FaultClass.DETERMINISTIC),
        (
            "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.",
            "DecodingStalled",
            FaultClass.RUNTIME,
        ),
        ("SIGQUIT received. signum=3, frame=x. It usually means one child failed.", "EngineAborted", FaultClass.RUNTIME),
    ],
)
def test_failures(line: str, reason: str, fault: FaultClass) -> None:
    """Given a log with a known failure, when it is diagnosed, then the reason and who is to blame are named."""
    found = SGLANG.diagnose((BOOT[0][0], line))
    assert found is not None
    assert (found.reason, found.fault) == (reason, fault)


def test_the_cause_wins_over_the_signal_that_follows() -> None:
    """Given a failure and the signal with which its process takes the others down, when diagnosed, then the failure is told."""
    lines = (BOOT[0][0], "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "SIGQUIT received.")
    found = SGLANG.diagnose(lines)
    assert found is not None
    assert found.reason == "NoRoomForKvCache"
