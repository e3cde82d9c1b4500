"""What every engine type prints: while it loads, once it is ready, and while it works.

A phrase is a piece of output at a share of the load; most are whole lines, the dots of llama.cpp are not. `{names}` are facts
of the engine; `{now}` is the time in vLLM's form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Phrases = tuple[tuple[float, str], ...]

DOTS: Final = 50
"""How many dots llama.cpp prints while tensors load."""
NEWEST_VLLM: Final = "0.33"
VLLM_RELEASES: Final[Mapping[str, str]] = {"0.33": "0.33.0", "0.11": "0.11.0", "0.8": "0.8.5"}

_API: Final = "(APIServer pid=1) INFO {now} [api_server.py:1346] "
_CORE: Final = "(EngineCore pid=12) INFO {now} [gpu_model_runner.py:3920] "
_BAR: Final = "\rLoading safetensors checkpoint shards: {:3d}% Completed | {}/4\n"
"""vLLM ends each state of its bar with a line's end, so that other programs may wrap its output."""


def loading(dialect: str, version: str | None) -> Phrases:
    """The phrases of a load, in order."""
    if dialect == "vllm":
        return _vllm(version if version and version in VLLM_RELEASES else NEWEST_VLLM)
    return _LOADING[dialect]


def _vllm(version: str) -> Phrases:
    bars = tuple((0.15 + 0.1 * shard, _BAR.format(25 * shard, shard)) for shard in range(5))
    available = ((0.7, _CORE + "Available KV cache memory: 18.50 GiB\n"),) if version != "0.8" else ()
    return (
        (0.0, _API + f"vLLM API server version {VLLM_RELEASES[version]}\n"),
        (0.05, _CORE + "Starting to load model {model}...\n"),
        *bars,
        (0.55, "\n"),
        (0.55, _CORE + "Loading weights took 0.80 seconds\n"),
        (0.58, _CORE + "Model loading took 1.0 GiB memory and 1.00 seconds\n"),
        (0.65, _CORE + f"torch.compile {'took' if version == NEWEST_VLLM else 'takes'} 14.20 s in total\n"),
        *available,
        *_pool(version),
        (0.9, _CORE + "Graph capturing finished in 1 secs, took 0.10 GiB\n"),
        (0.95, _CORE + "init engine (profile, create kv cache, warmup model) took 1.00 seconds\n"),
    )


def _pool(version: str) -> Phrases:
    """The size of the KV cache: two lines in older versions, one since."""
    size, most = "GPU KV cache size: {pool:,} tokens", "Maximum concurrency for {context:,} tokens per request: {slots}.00x"
    if version == NEWEST_VLLM:
        return ((0.75, f"{_CORE}{size}, {most}\n"),)
    return ((0.75, f"{_CORE}{size}\n"), (0.75, f"{_CORE}{most}\n"))


_LOADING: Final[Mapping[str, Phrases]] = {
    "llamacpp": (
        (0.0, "ggml_cuda_init: found 1 CUDA devices (Total VRAM: 24124 MiB):\n"),
        (0.0, "build: 11549 (5157e3a0) with GNU 13.3.0 for Linux x86_64\n"),
        (0.02, "srv    load_model: loading model '{model}'\n"),
        (0.08, "load_tensors: offloaded 33/33 layers to GPU\n"),
        (0.1, "load_tensors:        CUDA0 model buffer size =  1024.00 MiB\n"),
        *((0.1 + 0.7 * dot / DOTS, ".") for dot in range(DOTS)),
        (0.8, "\n"),
        (0.82, "llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB\n"),
        (0.86, "sched_reserve:      CUDA0 compute buffer size =   256.00 MiB\n"),
        (0.9, "common_init_from_params: warming up the model with an empty run - please wait ... (--no-warmup to disable)\n"),
        (0.95, "srv    load_model: initializing, n_slots = {slots}, n_ctx_slot = {context}, kv_unified = 'false'\n"),
    ),
    "sglang": (
        (0.0, "[{now}] server_args=ServerArgs(model_path='{model}')\n"),
        (0.1, "[{now}] Load weight begin. avail mem=23.20 GB\n"),
        (0.6, "[{now}] Load weight end. elapsed=1.00 s, type=LlamaForCausalLM, avail mem=22.00 GB, mem usage=1.00 GB.\n"),
        (0.65, "[{now}] KV Cache is allocated. #tokens: {pool}, K size: 1.00 GB, V size: 1.00 GB\n"),
        (0.7, "[{now}] Capture cuda graph begin. This can take up to several minutes. avail mem=20.00 GB\n"),
        (0.85, "[{now}] Capture cuda graph end. Time elapsed: 1.00 s. mem usage=0.10 GB. avail mem=19.90 GB.\n"),
        (
            0.88,
            "[{now}] max_total_num_tokens={pool}, chunked_prefill_size=2048, max_prefill_tokens=16384, "
            "max_running_requests={slots}, context_len={context}, available_gpu_mem=19.90 GB\n",
        ),
        (0.9, "[{now}] Uvicorn running on http://{host}:{port}\n"),
    ),
    "generic": ((0.0, "starting\n"),),
    "simulated": tuple((percent / 100, f"loading model: {percent} %\n") for percent in range(0, 101, 10)),
}

READY: Final[Mapping[str, tuple[str, ...]]] = {
    "vllm": (
        _API + "Starting vLLM API server 0 on http://{host}:{port}\n",
        "(APIServer pid=1) INFO:     Application startup complete.\n",
    ),
    "llamacpp": ("srv          init: model loaded\n", "srv          init: listening on http://{host}:{port}\n"),
    "sglang": ("[{now}] The server is fired up and ready to roll!\n",),
    "generic": ("listening on http://{host}:{port}\n",),
    "simulated": ("model loaded\n", "listening on http://{host}:{port}\n"),
}

REPORT: Final[Mapping[str, str]] = {
    "vllm": _API + "Engine 000: Avg prompt throughput: {prompt_throughput:.1f} tokens/s, Avg generation throughput: "
    "{generation_throughput:.1f} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, "
    "GPU KV cache usage: {percent:.1f}%, Prefix cache hit rate: 0.0%\n",
    "sglang": "[{now}] Decode batch, #running-req: {running}, #token: {tokens}, token usage: {usage:.2f}, cuda graph: True, "
    "gen throughput (token/s): {generation_throughput:.2f}, #queue-req: {waiting}\n",
}
"""The line of a busy engine."""

PREFILL: Final[Mapping[str, str]] = {
    "sglang": "[{now}] Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: 0, token usage: {usage:.2f}, "
    "#running-req: {running}, #queue-req: {waiting}\n",
    "llamacpp": "slot launch_slot_: processing task, n_prompt_tokens = {new}\n",
}
"""The line of a request that begins."""
