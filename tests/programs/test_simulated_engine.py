"""The simulated engine, run as the process that it is: how it loads, what it prints, how it ends."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from controller.simulation.engine.config import Config
from controller.simulation.engine.script import Change, Line, Script
from controller.simulation.engine.wire import config_to_json, script_to_json
from tests.programs.engine_program import LIMIT_S, ROOT, Engines, Running, ready, until


def stays(engine: Running, log: str) -> bool:
    """Whether the log is the same after a while that is long for a fast load."""
    deadline = time.monotonic() + 0.6
    until(lambda: time.monotonic() > deadline)
    return engine.log == log


def scripted(script: Script) -> dict[str, str]:
    """The environment that tells an engine its whole script."""
    return {"STEWARD_SIM": script_to_json(script)}


# -- loading


def test_a_loading_vllm_refuses_connections_and_then_serves(start: Engines) -> None:
    """Given vLLM's manner, while it loads its port refuses; afterwards health is 200 and the log has its phrases."""
    engine = start("--dialect", "vllm", "--sim-load-s", "0.6")
    assert engine.status() is None
    until(lambda: "Loading safetensors" in engine.log)
    assert engine.status() is None
    until(lambda: engine.status() is not None)
    assert engine.status() == 200
    until(lambda: "Application startup complete." in engine.log)
    phrases = (
        "100% Completed",
        "Model loading took",
        "Available KV cache memory: ",
        "GPU KV cache size: 65,536 tokens, Maximum",
    )
    assert all(phrase in engine.log for phrase in phrases)


def test_an_older_vllm_has_an_older_log(start: Engines) -> None:
    """Given the metrics of 0.8, the banner, the size of the cache and the version are those of that release."""
    engine = ready(start("--dialect", "vllm", "--sim-metrics", "0.8"))
    until(lambda: "startup complete" in engine.log)
    assert "API server version 0.8.5" in engine.log
    assert "Available KV cache memory" not in engine.log
    assert engine.ask("/version").json() == {"version": "0.8.5"}


def test_a_loading_llama_server_answers_503(start: Engines) -> None:
    """Given llama.cpp's manner, while it loads health and completions are 503 with its error body."""
    engine = start("--dialect", "llamacpp", "--sim-load-s", "30")
    until(lambda: engine.status() == 503)
    error = {"error": {"code": 503, "type": "unavailable_error", "message": "Loading model"}}
    assert engine.ask("/health").json() == error
    assert engine.complete(1) == error


def test_llama_server_prints_dots_on_one_line(start: Engines) -> None:
    """Given a load of llama.cpp, while tensors load its dots grow on a line without an end."""
    engine = start("--dialect", "llamacpp", "--sim-load-s", "2")
    until(lambda: engine.log.endswith("\n..."))
    until(lambda: f"\n{'.' * 50}\n" in engine.log)


def test_a_loading_sglang_refuses_then_answers_503(start: Engines) -> None:
    """Given SGLang's manner, it refuses for most of its load, answers 503 at its end, and serves after that."""
    engine = start("--dialect", "sglang", "--sim-load-s", "5")
    until(lambda: "Load weight begin" in engine.log)
    assert engine.status() is None
    until(lambda: engine.status() == 503)
    until(lambda: engine.status("/ready") == 200)
    until(lambda: "The server is fired up and ready to roll!" in engine.log)


def test_the_load_phase_can_be_told(start: Engines) -> None:
    """Given the other phase by flag, a llama.cpp in the middle of its load refuses connections."""
    engine = start("--dialect", "llamacpp", "--sim-load-phase", "refused", "--sim-load-s", "30")
    until(lambda: "loading model" in engine.log)
    assert engine.status() is None


def test_a_stalled_boot_stays_where_it_is(start: Engines) -> None:
    """Given a stall at half of the load, it prints no further line and never gets ready."""
    engine = start("--sim-load-s", "0.4", "--sim-stall-s", "0.2")
    until(lambda: "40 %" in engine.log)
    assert stays(engine, engine.log)
    assert "50 %" not in engine.log
    assert engine.status() == 503


def test_lines_of_a_script_replace_the_phrases(start: Engines) -> None:
    """Given lines with moments, it prints these alone, each on its stream."""
    lines = (Line("later {braces}", 0.3), Line("first"), Line("oh", 0.1, stderr=True))
    engine = start("--dialect", "vllm", environment=scripted(Script(log=lines)))
    until(lambda: engine.log == "first\nlater {braces}\n")
    ready(engine).complete(2)
    assert engine.stop() == 0
    assert engine.log == "first\nlater {braces}\n"
    assert engine.errors.read_text() == "oh\n"


# -- ends


def test_a_failing_boot_prints_its_reason_and_exits(start: Engines) -> None:
    """Given an end before the load is over, it exits with code and phrase, which begins on a line of its own."""
    told = ("--sim-exits-s", "1", "--sim-exit-code", "7", "--sim-exit-log", "CUDA out of memory")
    engine = start("--dialect", "llamacpp", "--sim-load-s", "3", *told)
    assert engine.process.wait(LIMIT_S) == 7
    assert engine.log.endswith(".\nCUDA out of memory\n")
    assert "model loaded" not in engine.log


def test_an_engine_dies_after_it_was_ready(start: Engines) -> None:
    """Given an end after the load with code 0, it serves first and is gone then, with its phrase as the last line."""
    engine = start("--sim-exits-s", "2", "--sim-exit-code", "0", "--sim-exit-log", "EngineDeadError")
    until(lambda: "listening" in engine.log)
    assert engine.process.wait(LIMIT_S) == 0
    assert engine.log.endswith("EngineDeadError\n")


def test_term_lets_a_running_answer_finish(start: Engines) -> None:
    """Given a running answer, TERM refuses a new request, the old one comes complete, and the exit code is 0."""
    engine = ready(start("--sim-tps", "40"))
    answers: list[dict[str, Any]] = []
    asker = threading.Thread(target=lambda: answers.append(engine.complete(40)), daemon=True)
    asker.start()
    until(lambda: engine.figure("simulated:generation_tokens_total") > 0)
    engine.process.send_signal(signal.SIGTERM)
    until(lambda: engine.ask("/v1/completions", {"prompt": "late"}).status_code == 503)
    asker.join(LIMIT_S)
    assert engine.process.wait(LIMIT_S) == 0
    assert answers[0]["usage"]["completion_tokens"] == 40


def test_term_cuts_an_answer_at_the_limit(start: Engines) -> None:
    """Given an answer that never ends and a short drain, the process ends with 0 all the same."""
    engine = ready(start("--sim-hang", "--sim-drain-s", "0.2"))
    engine.ask_in_vain()
    until(lambda: engine.figure("simulated:requests_running") == 1)
    assert engine.stop() == 0


def test_vllm_does_not_drain(start: Engines) -> None:
    """Given vLLM's manner and an answer that never ends, TERM ends it without a limit being told."""
    engine = ready(start("--dialect", "vllm", "--sim-hang"))
    engine.ask_in_vain()
    until(lambda: engine.figure("vllm:num_requests_running") == 1)
    assert engine.stop() == 0


def test_a_draining_sglang_is_not_healthy(start: Engines) -> None:
    """Given SGLang's manner and a running answer, after TERM its health and readiness are 503 and it goes on."""
    engine = start("--dialect", "sglang", "--sim-requests", "1")
    until(lambda: engine.status("/ready") == 200)
    engine.process.terminate()
    until(lambda: engine.status("/ready") == 503)
    assert engine.status() == 503
    assert engine.process.poll() is None


def test_the_end_after_term_can_be_slow_and_has_its_code(start: Engines) -> None:
    """Given a time and a code for the end after TERM, it answers until then and exits with that code."""
    engine = ready(start("--sim-term-s", "1", "--sim-term-code", "9"))
    engine.process.terminate()
    assert engine.status() == 200
    assert engine.process.wait(LIMIT_S) == 9


def test_term_while_loading_is_no_clean_exit(start: Engines) -> None:
    """Given an engine that still loads, TERM ends it with the code of a terminated process."""
    engine = start("--sim-load-s", "30")
    until(lambda: engine.status() == 503)
    assert engine.stop() == 128 + signal.SIGTERM


def test_an_engine_can_ignore_term(start: Engines) -> None:
    """Given one that ignores TERM, it serves on after it."""
    engine = ready(start("--sim-ignore-term", "--sim-tps", "1000"))
    engine.process.terminate()
    assert engine.complete(3)["usage"]["completion_tokens"] == 3
    assert engine.process.poll() is None


# -- what it is, and what tells it


def test_its_folder_is_all_that_it_needs(tmp_path: Path) -> None:
    """Given the package and its two parents alone and a Python without any library, it starts as a program."""
    for name in ("controller/__init__.py", "controller/simulation/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    package = "controller/simulation/engine"
    shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-P", "-S", "-m", "controller.simulation.engine", "--help"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--sim-load-s" in done.stdout


def test_what_holds_changes_with_its_age(start: Engines) -> None:
    """Given changes over time, it is healthy, then it is not, and at last it ends."""
    changes = (Change(1.5, {"health": "500"}), Change(2.5, {"exits_s": 3.0, "exit_code": 4}))
    engine = ready(start(environment=scripted(Script(changes=changes))))
    until(lambda: engine.status() == 500)
    assert engine.process.wait(LIMIT_S) == 4


def test_wrong_usage_ends_it_with_one_sentence(start: Engines) -> None:
    """Given a flag that it does not have, it exits 2 and says which one, without a traceback."""
    engine = start("--sim-speed", "3")
    assert engine.process.wait(LIMIT_S) == 2
    assert engine.errors.read_text() == "error: unrecognized arguments: --sim-speed 3\n"


def test_a_taken_port_is_named(start: Engines) -> None:
    """Given a port that another process listens on, it exits 1 with the port in an engine's words."""
    holder = ready(start())
    late = start("--port", str(holder.port))
    assert late.process.wait(LIMIT_S) == 1
    assert f"[Errno 98] Address already in use: could not bind 127.0.0.1:{holder.port}" in late.log


def test_a_parent_tells_it_what_to_do_and_takes_it_along(start: Engines) -> None:
    """Given a parent with a bound socket, it listens there, does what each line says, and ends when the pipe closes."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        port, number = bound.getsockname()[1], str(bound.fileno())
        engine = start.launch(port, "--controlled", "rig.chat.1", "--listen-fd", number, fds=(bound.fileno(),))
    pipe = engine.process.stdin
    assert pipe is not None
    pipe.write(f"{config_to_json(Config(names=('chat',), script=Script(load_s=1000, ignore_term=True)))}\n".encode())
    until(lambda: engine.status() == 503)
    pipe.write(f"{script_to_json(Script())}\n".encode())
    assert ready(engine).ask("/v1/models").json()["data"][0]["id"] == "chat"
    pipe.write(f"{script_to_json(Script(hang=True, health='500'))}\n".encode())
    until(lambda: engine.status() == 500)
    pipe.close()
    assert engine.process.wait(LIMIT_S) == 128 + signal.SIGTERM


def test_a_parent_that_talks_nonsense_is_told_so(start: Engines) -> None:
    """Given a line that is no configuration, it exits 2 with one sentence."""
    engine = start.launch(0, "--controlled", "rig.chat.1")
    assert engine.process.stdin is not None
    engine.process.stdin.write(b"nonsense\n")
    assert engine.process.wait(LIMIT_S) == 2
    assert engine.errors.read_text().startswith("error: not JSON: ")


def test_a_client_that_hangs_up_frees_its_slot_in_silence(start: Engines) -> None:
    """Given clients that leave in the middle of an answer or of a request, the slot is free again and nothing is printed."""
    engine = ready(start("--max-num-seqs", "1", "--sim-tps", "5"))
    before = engine.log
    request = {"prompt": "hello", "max_tokens": 200, "stream": True}
    url = f"http://127.0.0.1:{engine.port}/v1/completions"
    with httpx.stream("POST", url, json=request, timeout=LIMIT_S) as answer:
        next(answer.iter_lines())
    with closing(socket.create_connection(("127.0.0.1", engine.port), LIMIT_S)) as half:
        half.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 900\r\n\r\n{")
    until(lambda: engine.figure("simulated:requests_running") == 0)
    assert engine.complete(1)["usage"]["completion_tokens"] == 1
    assert (engine.log, engine.errors.read_text()) == (before, "")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Content-Length: 999999999\r\n", b"413"),
        (b"Content-Length: -5\r\n", b"411"),
        (b"Transfer-Encoding: chunked\r\n", b"411"),
    ],
)
def test_bodies_have_a_length_and_a_limit(start: Engines, head: bytes, status: bytes) -> None:
    """Given a body that is too large or of unknown length, it is refused unread, as JSON."""
    engine = ready(start())
    with closing(socket.create_connection(("127.0.0.1", engine.port), LIMIT_S)) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\n" + head + b"\r\n")
        answer = client.makefile("rb").read()
    assert answer.split()[1] == status
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == int(status)
