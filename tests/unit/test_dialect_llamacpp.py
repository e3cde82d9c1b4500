"""The dialect of llama-server: golden argv, metric names, boot logs and what they say about a failure."""

from __future__ import annotations

import pytest

from controller.dialects.dialect import Launch
from controller.dialects.exposition import samples
from controller.dialects.registry import dialect
from controller.model.fields import SecretRef
from controller.model.observed import EngineMetrics
from controller.model.parameters import Value
from controller.model.profile import DialectName
from controller.model.track import FaultClass
from tests.unit.argv_text import argv_text

LLAMA = dialect(DialectName.LLAMACPP)
EVERYTHING: dict[str, Value] = {
    "model_path": "tess",
    "model_file": "tess-Q4_K_M.gguf",
    "mmproj_file": "mmproj-f16.gguf",
    "served_name": "tess",
    "max_model_len": 65536,
    "max_num_seqs": 2,
    "max_num_batched_tokens": 4096,
    "ubatch_size": 2048,
    "kv_cache_dtype": "q8_0",
    "spec_method": "mtp",
    "spec_tokens": 2,
    "spec_model": "tess/mtp.gguf",
    "tool_call_parser": "hermes",
    "reasoning_parser": "none",
    "chat_template": "tess/chat.jinja",
    "gpu_layers": 99,
    "flash_attention": "on",
    "tensor_split": ("3", "1"),
    "n_cpu_moe": 4,
    "api_key": SecretRef(secret="TESS_KEY"),
    "extra_args": ("--no-webui",),
}
ALWAYS = "--host 0.0.0.0\n--port 8080\n"
LAST = "--metrics\n--slots\n--fit off\n"


def launch(parameters: dict[str, Value], extra: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> Launch:
    """A launch on the port of the image's health check."""
    return Launch(parameters, names, 8080, "steward-test/llamacpp:1", extra)


def test_golden_argv_of_every_parameter() -> None:
    """Given every parameter, when the argv is built, then it is this text, the context multiplied by the slots."""
    assert (
        argv_text(LLAMA.argv(launch(EVERYTHING, ("--no-mmap",), ("tess", "tess-4"))))
        == """\
-m /models/tess/tess-Q4_K_M.gguf
--mmproj /models/tess/mmproj-f16.gguf
--alias tess,tess-4
--host 0.0.0.0
--port 8080
-c 131072
-np 2
-b 4096
-ub 2048
-ngl 99
-fa on
--tensor-split 3,1
--n-cpu-moe 4
-ctk q8_0
-ctv q8_0
--spec-type draft-mtp
-md /models/tess/mtp.gguf
--spec-draft-n-max 2
--jinja
--chat-template-file /models/tess/chat.jinja
--reasoning-format none
--metrics
--slots
--fit off
--api-key <secret TESS_KEY>
--no-mmap
--no-webui
"""
    )


@pytest.mark.parametrize("name", sorted(LLAMA.supported - {"served_name", "max_num_seqs", "model_path"}))
def test_every_supported_parameter_reaches_the_argv(name: str) -> None:
    """Given one parameter more, when the argv is built, then it is longer: none is accepted and then forgotten."""
    assert len(LLAMA.argv(launch({name: EVERYTHING[name]}))) > len(LLAMA.argv(launch({})))


@pytest.mark.parametrize(
    ("parameters", "flags"),
    [
        ({}, "-np 1\n"),
        ({"max_model_len": 4096}, "-c 4096\n-np 1\n"),
        ({"max_num_seqs": 4}, "-np 4\n"),
        ({"kv_cache_dtype": "fp16"}, "-np 1\n-ctk f16\n-ctv f16\n"),
        ({"kv_cache_dtype": "bf16"}, "-np 1\n-ctk bf16\n-ctv bf16\n"),
        ({"kv_cache_dtype": "bfloat16"}, "-np 1\n-ctk bf16\n-ctv bf16\n"),
        ({"kv_cache_dtype": "auto"}, "-np 1\n"),
        ({"kv_cache_dtype": "k8v4"}, "-np 1\n-ctk q8_0\n-ctv q4_0\n"),
        ({"spec_method": "ngram-mod"}, "-np 1\n--spec-type ngram-mod\n"),
        ({"tool_call_parser": "any"}, "-np 1\n--jinja\n"),
        ({"chat_template": "/overlays/t.jinja"}, "-np 1\n--jinja\n--chat-template-file /overlays/t.jinja\n"),
    ],
)
def test_parameters_with_forms_of_their_own(parameters: dict[str, Value], flags: str) -> None:
    """Given a parameter that is no plain flag, when the argv is built, then it has llama-server's form."""
    assert argv_text(LLAMA.argv(launch(parameters))) == ALWAYS + flags + LAST


def test_a_model_file_may_lie_in_the_models_folder_itself() -> None:
    """Given a file without a folder, when the argv is built, then it is looked for in the models folder."""
    assert LLAMA.argv(launch({"model_file": "a.gguf"}))[:2] == ("-m", "/models/a.gguf")


def test_a_model_is_missing_unless_something_names_it() -> None:
    """Given a folder without a file, when it is asked what is missing, then that is it, unless another flag names a model."""
    assert LLAMA.missing(launch({"model_path": "tess"})) == ("model_file",)
    assert LLAMA.missing(launch({"model_file": "a.gguf"})) == ()
    assert LLAMA.missing(launch({"extra_args": ("-hf", "org/repo:Q4_K_M")})) == ()


def test_metrics_of_a_new_and_an_old_build() -> None:
    """Given pages of two builds, when they are mapped, then the figures have Steward's names and what is absent is None."""
    new = """
llamacpp:prompt_tokens_total 10
llamacpp:tokens_predicted_total 20
llamacpp:tokens_predicted_seconds_total 0.5
llamacpp:n_decode_total 21
llamacpp:requests_processing 1
llamacpp:requests_deferred 3
llamacpp:spec_decode_num_draft_tokens_total 8
llamacpp:spec_decode_num_accepted_tokens_total 6
"""
    assert LLAMA.metrics(samples(new)) == EngineMetrics(
        generation_tokens=20.0,
        prompt_tokens=10.0,
        running=1.0,
        waiting=3.0,
        steps=21.0,
        generation_seconds=0.5,
        draft_tokens=8.0,
        accepted_tokens=6.0,
    )
    assert LLAMA.metrics({"llamacpp:kv_cache_usage_ratio": 0.4}) == EngineMetrics(kv_usage=0.4)


BOOT = (
    "build: 10236 (abcdef12) with GNU 13.3.0 for x86_64-linux-gnu",
    "srv    load_model: loading model '/models/tess/tess-Q4_K_M.gguf'",
    "load_tensors: offloaded 33/33 layers to GPU",
    "llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB",
    "common_init_from_params: warming up the model with an empty run - please wait ... (--no-warmup to disable)",
    "srv    load_model: initializing slots, n_slots = 2",
    "main: model loaded",
    "main: server is listening on http://0.0.0.0:8080 - starting the main loop",
)


@pytest.mark.parametrize(
    ("count", "phase"),
    [
        (0, ""),
        (1, "starting"),
        (2, "reading the model file"),
        (3, "loading weights"),
        (4, "allocating the KV cache"),
        (5, "warming up"),
        (6, "preparing slots"),
        (7, "model loaded"),
        (8, "serving"),
    ],
)
def test_phases_follow_the_log(count: int, phase: str) -> None:
    """Given the first lines of a boot, when its phase is asked for, then it is the last one that they name."""
    assert LLAMA.phase((*BOOT[:count], "something else")) == phase


FAILURES = [
    (
        (
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc failed: out of memory",
            "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
        ),
        "NoRoomForKvCache",
        FaultClass.TRANSIENT,
        "lower max_model_len or max_num_seqs, or use a smaller kv_cache_dtype; it asked for 8192.00 MiB on its card 0",
    ),
    (
        (
            "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4294967296",
            "graph_reserve: failed to allocate compute buffers",
        ),
        "NoRoomForCompute",
        FaultClass.TRANSIENT,
        "lower ubatch_size",
    ),
    (
        ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20000.50 MiB on device 1: cudaMalloc failed: out of memory",),
        "GpuOutOfMemory",
        FaultClass.TRANSIENT,
        "it asked for 20000.50 MiB on its card 1",
    ),
    (
        ("gguf_init_from_file: failed to open GGUF file '/models/tess/x.gguf' (No such file or directory)",),
        "ModelNotFound",
        FaultClass.DETERMINISTIC,
        "cannot open /models/tess/x.gguf",
    ),
    (
        ("llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'novel9'",),
        "ModelUnsupported",
        FaultClass.DETERMINISTIC,
        "architecture novel9",
    ),
    (
        ("llama_model_load: error loading model: tensor 'blk.1.w' data is not within the file bounds, model is corrupted",),
        "WeightsDamaged",
        FaultClass.DETERMINISTIC,
        "fetch it again",
    ),
    (
        ("llama_init_from_model: V cache quantization requires flash_attn",),
        "FlashAttentionNeeded",
        FaultClass.DETERMINISTIC,
        "flash_attention: on",
    ),
    (
        ("llama_model_load: error loading model: missing tensor 'token_embd.weight'",),
        "ModelLoadFailed",
        FaultClass.DETERMINISTIC,
        "missing tensor 'token_embd.weight'",
    ),
    (
        ("srv    load_model: failed to load draft model, '/models/tess/mtp.gguf'",),
        "DraftModelFailed",
        FaultClass.DETERMINISTIC,
        "'/models/tess/mtp.gguf'",
    ),
    (("error: invalid argument: --no-such-flag",), "UnknownArgument", FaultClass.DETERMINISTIC, "argument --no-such-flag:"),
    (
        ('error while handling argument "-ctk": Unsupported cache type: fp8_e4m3',),
        "InvalidArgument",
        FaultClass.DETERMINISTIC,
        "refuses the value of -ctk: Unsupported cache type: fp8_e4m3",
    ),
    (
        ("couldn't bind HTTP server socket, hostname: 0.0.0.0, port: 8080", "main: exiting due to HTTP server error"),
        "PortTaken",
        FaultClass.ENVIRONMENT,
        "in use",
    ),
    (("CUDA error: an illegal memory access was encountered",), "CudaError", FaultClass.RUNTIME, "illegal memory access"),
]
TAIL = (
    "srv    load_model: failed to load model, '/models/tess/tess-Q4_K_M.gguf'",
    "srv    operator(): operator(): cleaning up before exit...",
    "main: exiting due to model loading error",
)


@pytest.mark.parametrize(("cause", "reason", "fault", "says"), FAILURES, ids=[f"{n}-{f[1]}" for n, f in enumerate(FAILURES)])
def test_a_failure_is_found_above_the_generic_tail(cause: tuple[str, ...], reason: str, fault: FaultClass, says: str) -> None:
    """Given a failed boot as llama-server prints it, when it is diagnosed, then the cause is named, never the tail."""
    tail = () if reason == "CudaError" else TAIL
    found = LLAMA.diagnose((*BOOT[:2], *cause, *tail))
    assert found is not None
    assert (found.reason, found.fault) == (reason, fault)
    assert says in found.message


def test_a_tail_alone_names_no_cause() -> None:
    """Given only generic last lines, when they are diagnosed, then the answer says that the log names no cause."""
    found = LLAMA.diagnose((*BOOT[:2], *TAIL))
    assert found is not None
    assert (found.reason, found.message) == ("ModelLoadFailed", "the model could not be loaded and the log names no cause")


def test_a_log_without_a_failure_gives_no_reason() -> None:
    """Given a boot that served, when it is diagnosed, then there is no reason to tell."""
    assert LLAMA.diagnose(BOOT) is None
    assert LLAMA.diagnose(()) is None
