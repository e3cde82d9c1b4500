"""The command line of the llama.cpp test image: its flags reach llama.cpp, all others are refused in its words."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
import xllamacpp

from tests.engine.llamacpp.llama_server import ArgumentError, parse, usage
from tests.engine.tiny_gguf import write_tiny_gguf

ENTRY = Path(__file__).parents[1] / "engine" / "llamacpp" / "llama_server.py"
LIMIT_S = 30.0
COMMAND_LINE = (
    "-m /models/m.gguf --mmproj /models/p.gguf --alias b,a --host 0.0.0.0 --port 8000 -c 8192 -np 2 -b 256 -ub 128 "
    "-ctk q8_0 -ctv q4_0 -ngl 99 -fa on --tensor-split 3,1 --fit off --metrics --slots --reasoning-format none --jinja "
    "--api-key k1,k2 --spec-type draft-simple,ngram-mod -md /models/d.gguf --spec-draft-n-max 5"
)


def test_flags_become_llama_cpp_parameters() -> None:
    """Given a whole command line, when it is parsed, then every flag has set the parameter that it names."""
    found = parse(COMMAND_LINE.split())
    assert (found.model.path, found.mmproj.path) == ("/models/m.gguf", "/models/p.gguf")
    assert (found.model_alias, found.api_keys) == ({"a", "b"}, ["k1", "k2"])
    assert (found.hostnames, found.port) == (["0.0.0.0"], 8000)
    assert (found.n_ctx, found.n_parallel, found.n_batch, found.n_ubatch) == (8192, 2, 256, 128)
    assert (found.cache_type_k, found.cache_type_v) == (xllamacpp.ggml_type.GGML_TYPE_Q8_0, xllamacpp.ggml_type.GGML_TYPE_Q4_0)
    assert (found.n_gpu_layers, found.tensor_split[:3]) == (99, [3.0, 1.0, 0.0])
    assert (found.fit_params, found.endpoint_metrics, found.endpoint_slots, found.use_jinja) == (False, True, True, True)
    assert (found.speculative.draft.mparams.path, found.speculative.draft.n_max) == ("/models/d.gguf", 5)
    assert [kind.name.split("TYPE_")[1] for kind in found.speculative.types] == ["DRAFT_SIMPLE", "NGRAM_MOD"]


def test_experts_of_the_first_layers_stay_in_the_cpu() -> None:
    """Given --n-cpu-moe 2, when it is parsed, then the expert tensors of layers 0 and 1 are overridden, no others."""
    overrides = parse(["--n-cpu-moe", "2"]).tensor_buft_overrides.split(",")
    assert [text.split("ffn")[0] for text in overrides] == [r"blk\.0\.", r"blk\.1\."]
    assert all(text.endswith("=CPU") for text in overrides)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--unheard-of", "1"], "error: invalid argument: --unheard-of"),
        (["-m", "x", "stray"], "error: invalid argument: stray"),
        (["-c", "many"], 'error while handling argument "-c": stoi'),
        (["-m"], 'error while handling argument "-m": expected value for argument'),
        (["-ctk", "q3"], 'error while handling argument "-ctk": Unsupported cache type: q3'),
        (["-fa", "maybe"], "unknown value for --flash-attn: 'maybe'"),
        (["--reasoning-format", "loud"], "Unknown reasoning format: loud"),
        (["--draft-max", "3"], "the argument has been removed. use --spec-draft-n-max"),
        (["--chat-template-file", "/nowhere"], "failed to open file '/nowhere'"),
    ],
)
def test_what_llama_server_refuses_is_refused(argv: list[str], said: str) -> None:
    """Given a flag or a value that llama-server does not take, when it is parsed, then the error has its words."""
    with pytest.raises(ArgumentError) as caught:
        parse(argv)
    assert said in str(caught.value)


def test_help_lists_every_flag() -> None:
    """Given --help, its text names the flags by which a later check knows what the image accepts."""
    assert all(flag in usage() for flag in ("--ctx-size", "-ub", "--fit", "--spec-draft-n-max", "--tensor-split"))


def test_a_real_llama_server_answers_and_stops(tmp_path: Path) -> None:
    """Given the tiny model, the server loads it, lists its names, completes, counts the tokens, and ends with 0 on TERM."""
    write_tiny_gguf(tmp_path / "tiny.gguf")
    with _server(tmp_path, "-m", str(tmp_path / "tiny.gguf"), "--alias", "tiny,small") as (process, url):
        models = httpx.get(f"{url}/v1/models", timeout=LIMIT_S).json()["data"]
        question = {"model": "tiny", "prompt": "hello", "max_tokens": 8, "temperature": 0}
        answer = httpx.post(f"{url}/v1/completions", json=question, timeout=LIMIT_S).json()
        metrics = httpx.get(f"{url}/metrics", timeout=LIMIT_S).text
        process.terminate()
        code = process.wait(LIMIT_S)
    assert models[0]["aliases"] == ["small", "tiny"]
    assert answer["choices"][0]["finish_reason"] == "length"
    assert len(answer["choices"][0]["text"].split()) == 8
    assert "llamacpp:tokens_predicted_total 8" in metrics
    assert code == 0
    assert "model loaded" in (tmp_path / "log").read_text()


@contextmanager
def _server(folder: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A llama-server process once its health is 200, and its URL."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, str(ENTRY), *flags, "--port", str(port), "-c", "1024", "--metrics", "--slots", "--fit", "off"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + LIMIT_S
        while not _healthy(f"http://127.0.0.1:{port}"):
            assert time.monotonic() < deadline, "llama-server did not get ready"
            time.sleep(0.05)
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(LIMIT_S)


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=LIMIT_S).status_code == 200
    except httpx.TransportError:
        return False
