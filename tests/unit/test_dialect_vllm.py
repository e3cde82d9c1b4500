"""The dialect of vLLM: golden argv and metric names across versions."""

from __future__ import annotations

import pytest

from controller.dialects.dialect import Launch
from controller.dialects.exposition import samples
from controller.dialects.registry import dialect
from controller.model.fields import SecretRef
from controller.model.observed import EngineMetrics
from controller.model.parameters import Value
from controller.model.profile import DialectName
from tests.unit.argv_text import argv_text

VLLM = dialect(DialectName.VLLM)
RELEASE = "vllm/vllm-openai:v0.27.1"
EVERYTHING: dict[str, Value] = {
    "model_path": "qwen3.6-27b/autoround",
    "served_name": "chat",
    "tensor_parallel_size": 2,
    "pipeline_parallel_size": 1,
    "max_model_len": 131072,
    "max_num_seqs": 2,
    "max_num_batched_tokens": 4128,
    "gpu_memory_utilization": 0.92,
    "kv_cache_dtype": "fp8_e5m2",
    "dtype": "float16",
    "quantization": "auto_round",
    "spec_method": "mtp",
    "spec_tokens": 3,
    "spec_model": "drafters/mtp",
    "enable_prefix_caching": True,
    "enable_chunked_prefill": False,
    "enforce_eager": True,
    "trust_remote_code": True,
    "tool_call_parser": "qwen3_coder",
    "reasoning_parser": "qwen3",
    "chat_template": "templates/qwen.jinja",
    "api_key": SecretRef(secret="CHAT_KEY"),
    "attention_backend": "FLASHINFER",
    "extra_args": ("--language-model-only",),
}


def launch(parameters: dict[str, Value], image: str = RELEASE, extra: tuple[str, ...] = ()) -> Launch:
    """A launch of two served names on the usual port."""
    return Launch(parameters, ("chat", "qwen"), 8000, image, extra)


def test_golden_argv_of_every_parameter() -> None:
    """Given every parameter, when the argv is built, then it is this text, the template's command before extra_args."""
    assert (
        argv_text(VLLM.argv(launch(EVERYTHING, extra=("--disable-log-requests",))))
        == """\
--host 0.0.0.0
--port 8000
--model /models/qwen3.6-27b/autoround
--served-model-name chat qwen
--tensor-parallel-size 2
--pipeline-parallel-size 1
--max-model-len 131072
--max-num-seqs 2
--max-num-batched-tokens 4128
--gpu-memory-utilization 0.92
--kv-cache-dtype fp8_e5m2
--dtype float16
--quantization auto_round
--attention-backend FLASHINFER
--speculative-config {"method": "mtp", "model": "/models/drafters/mtp", "num_speculative_tokens": 3}
--enable-prefix-caching
--no-enable-chunked-prefill
--enforce-eager
--trust-remote-code
--enable-auto-tool-choice
--tool-call-parser qwen3_coder
--reasoning-parser qwen3
--chat-template /models/templates/qwen.jinja
--api-key <secret CHAT_KEY>
--shutdown-timeout 20
--disable-log-requests
--language-model-only
"""
    )


def test_golden_argv_of_a_model_alone() -> None:
    """Given a model and a release before the shutdown timeout, when the argv is built, then no default is spelt out."""
    assert (
        argv_text(VLLM.argv(launch({"model_path": "m"}, "vllm/vllm-openai:v0.15.0")))
        == """\
--host 0.0.0.0
--port 8000
--model /models/m
--served-model-name chat qwen
"""
    )


@pytest.mark.parametrize("name", sorted(VLLM.supported - {"served_name"}))
def test_every_supported_parameter_reaches_the_argv(name: str) -> None:
    """Given one parameter more, when the argv is built, then it is longer: none is accepted and then forgotten."""
    assert len(VLLM.argv(launch({name: EVERYTHING[name]}))) > len(VLLM.argv(launch({})))


@pytest.mark.parametrize(
    ("parameters", "flags"),
    [
        ({"enable_prefix_caching": False}, "--no-enable-prefix-caching\n"),
        ({"enable_chunked_prefill": True}, "--enable-chunked-prefill\n"),
        ({"enforce_eager": False, "trust_remote_code": False}, ""),
        ({"kv_cache_dtype": "bf16"}, "--kv-cache-dtype bfloat16\n"),
        ({"kv_cache_dtype": "fp16"}, "--kv-cache-dtype float16\n"),
        ({"kv_cache_dtype": "f16"}, "--kv-cache-dtype float16\n"),
        ({"kv_cache_dtype": "auto"}, "--kv-cache-dtype auto\n"),
        ({"spec_method": "ngram", "spec_tokens": 4}, '--speculative-config {"method": "ngram", "num_speculative_tokens": 4}\n'),
        ({"chat_template": "/overlays/t.jinja"}, "--chat-template /overlays/t.jinja\n"),
        ({"max_model_len": 256}, "--max-model-len 256\n"),
    ],
)
def test_parameters_with_forms_of_their_own(parameters: dict[str, Value], flags: str) -> None:
    """Given a parameter that is no plain flag, when the argv is built, then it has vLLM's form."""
    assert argv_text(VLLM.argv(Launch(parameters, (), 8000, "x"))) == f"--host 0.0.0.0\n--port 8000\n{flags}"


@pytest.mark.parametrize(
    ("image", "has_it"),
    [
        ("vllm/vllm-openai:v0.18.0", True),
        ("vllm/vllm-openai:v1.0.0", True),
        ("host:5000/vllm/vllm-openai:v0.27.1@sha256:" + "0" * 64, True),
        ("vllm/vllm-openai:v0.17.2", False),
        ("vllm/vllm-openai:v0.8.5", False),
        ("vllm/vllm-openai:nightly-bf610c2f", False),
        ("vllm/vllm-openai:v0.27.1-cu130", False),
        ("vllm/vllm-openai:0.27.1", False),
        ("vllm/vllm-openai@sha256:" + "0" * 64, False),
        ("host:5000/vllm", False),
    ],
)
def test_the_shutdown_timeout_needs_a_release_that_has_it(image: str, has_it: bool) -> None:
    """Given image references, when the argv is built, then only releases known to have the flag are given it."""
    assert ("--shutdown-timeout" in VLLM.argv(launch({}, image))) is has_it


def test_a_model_is_missing_unless_something_names_it() -> None:
    """Given no model_path, when it is asked what is missing, then that is it, unless the template's command names a model."""
    assert VLLM.missing(launch({})) == ("model_path",)
    assert VLLM.missing(launch({"model_path": "m"})) == ()
    assert VLLM.missing(launch({}, extra=("--model", "org/m"))) == ()
    assert VLLM.missing(launch({"extra_args": ("--model=org/m",)})) == ()


NEW = """
vllm:num_requests_running{engine="0",model_name="a"} 1.0
vllm:num_requests_waiting{engine="0",model_name="a"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="a"} 0.25
vllm:prompt_tokens_total{engine="0",model_name="a"} 100.0
vllm:generation_tokens_total{engine="0",model_name="a"} 50.0
vllm:iteration_tokens_total_count{engine="0",model_name="a"} 60.0
vllm:spec_decode_num_draft_tokens_total{engine="0"} 30.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 20.0
process_start_time_seconds 1700000000.5
"""
OLD = """
vllm:num_requests_running 1
vllm:num_requests_waiting 2
vllm:gpu_cache_usage_perc 0.25
vllm:prompt_tokens 100
vllm:generation_tokens 50
"""


def test_metrics_of_a_new_version() -> None:
    """Given a page of vLLM 0.11 or later, when it is mapped, then every figure is there under Steward's name."""
    assert VLLM.metrics(samples(NEW)) == EngineMetrics(
        generation_tokens=50.0,
        prompt_tokens=100.0,
        running=1.0,
        waiting=2.0,
        kv_usage=0.25,
        steps=60.0,
        draft_tokens=30.0,
        accepted_tokens=20.0,
        process_start=1700000000.5,
    )


def test_metrics_across_renames() -> None:
    """Given the old names, when they are mapped, then the figures are the same; what is not exported is None, not zero."""
    assert VLLM.metrics(samples(OLD)) == EngineMetrics(50.0, 100.0, 1.0, 2.0, 0.25)
    assert VLLM.metrics({}) == EngineMetrics()


def test_a_share_of_several_ranks_is_capped() -> None:
    """Given two data-parallel ranks with full caches, when their sum is mapped, then the share is 1."""
    page = 'vllm:kv_cache_usage_perc{engine="0"} 0.9\nvllm:kv_cache_usage_perc{engine="1"} 0.8\n'
    assert VLLM.metrics(samples(page)).kv_usage == 1.0
