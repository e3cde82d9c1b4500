"""The simulated engine, run as the process that it is: boot phases, answers, metrics, misbehaviour, stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

ENGINE = Path(__file__).parents[2] / "controller" / "simulation" / "engine_server.py"
LIMIT_S = 20.0


def until(seen: Callable[[], bool]) -> None:
    """Poll until it is so, for a bounded time."""
    deadline = time.monotonic() + LIMIT_S
    while not seen():
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.02)


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Running:
    """One engine process."""

    process: subprocess.Popen[bytes]
    port: int
    output: Path

    @property
    def log(self) -> str:
        """What it printed so far."""
        return self.output.read_text()

    def ask(self, path: str, body: Mapping[str, Any] | None = None, key: str = "") -> httpx.Response:
        """One request, a POST where it has a body."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"http://127.0.0.1:{self.port}{path}"
        return httpx.request("GET" if body is None else "POST", url, json=body, headers=headers, timeout=LIMIT_S)

    def status(self) -> int | None:
        """What health answers, None while the connection is refused."""
        try:
            return self.ask("/health").status_code
        except httpx.TransportError:
            return None

    def complete(self, limit: int, **more: Any) -> dict[str, Any]:
        """The answer to a completion request."""
        answer: dict[str, Any] = self.ask("/v1/completions", {"prompt": "hello", "max_tokens": limit, **more}).json()
        return answer

    def figure(self, name: str) -> float:
        """One sample of the metrics, whatever its labels."""
        lines = self.ask("/metrics").text.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.partition("{")[0].split(" ")[0] == name)

    def stop(self) -> int:
        """TERM, and the exit code."""
        self.process.terminate()
        return self.process.wait(LIMIT_S)


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts engines with the given flags, and ends them after the test."""
    engines: list[Running] = []

    def begin(*flags: str, environment: Mapping[str, str] | None = None) -> Running:
        port, output = free_port(), tmp_path / f"{len(engines)}.log"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, str(ENGINE), "--host", "127.0.0.1", "--port", str(port), *flags],
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
            )
        engines.append(Running(process, port, output))
        return engines[-1]

    yield begin
    for engine in engines:
        engine.process.kill()
        engine.process.wait(LIMIT_S)


def ready(engine: Running) -> Running:
    """The engine once its health is 200."""
    until(lambda: engine.status() == 200)
    return engine


def test_a_loading_vllm_refuses_connections_and_then_serves(start: Start) -> None:
    """Given vLLM's manner, while it loads its port refuses; afterwards health is 200 and the log has its phrases."""
    engine = start("--dialect", "vllm", "--sim-load-s", "0.6")
    assert engine.status() is None
    until(lambda: "Loading safetensors" in engine.log)
    assert engine.status() is None
    until(lambda: engine.status() is not None)
    assert engine.status() == 200
    until(lambda: "Application startup complete." in engine.log)
    assert "Loading safetensors checkpoint shards: 100% Completed" in engine.log


def test_a_loading_llama_server_answers_503(start: Start) -> None:
    """Given llama.cpp's manner, while it loads health and completions are 503 with its error body."""
    engine = start("--dialect", "llamacpp", "--sim-load-s", "30")
    until(lambda: engine.status() == 503)
    error = {"error": {"code": 503, "type": "unavailable_error", "message": "Loading model"}}
    assert engine.ask("/health").json() == error
    assert engine.complete(1) == error


def test_the_load_phase_can_be_told(start: Start) -> None:
    """Given the other phase by flag, a llama.cpp in the middle of its load refuses connections."""
    engine = start("--dialect", "llamacpp", "--sim-load-phase", "refused", "--sim-load-s", "30")
    until(lambda: "offloaded" in engine.log or "loading model" in engine.log)
    assert engine.status() is None


def test_a_stalled_boot_stays_where_it_is(start: Start) -> None:
    """Given a stall at half of the load, it prints no further line and never gets ready."""
    engine = start("--sim-load-s", "0.2", "--sim-stall-at", "0.5")
    until(lambda: "40 %" in engine.log)
    before = engine.log
    deadline = time.monotonic() + 0.6
    until(lambda: time.monotonic() > deadline)
    assert engine.log == before
    assert engine.status() == 503


def test_a_failing_boot_prints_its_reason_and_exits(start: Start) -> None:
    """Given an exit code and a phrase for the boot, it exits with them in the middle of the load."""
    told = ("--sim-boot-exit-code", "7", "--sim-boot-exit-after-s", "0.2", "--sim-boot-exit-log", "CUDA out of memory")
    engine = start("--dialect", "vllm", "--sim-load-s", "30", *told)
    assert engine.process.wait(LIMIT_S) == 7
    assert engine.log.endswith("CUDA out of memory\n")
    assert "startup complete" not in engine.log


def test_an_engine_dies_after_it_was_ready(start: Start) -> None:
    """Given an exit after ready with code 0, it serves first and is gone then, with its phrase as the last line."""
    engine = ready(start("--sim-exit-after-s", "0.5", "--sim-exit-code", "0", "--sim-exit-log", "EngineDeadError"))
    assert engine.process.wait(LIMIT_S) == 0
    assert engine.log.endswith("EngineDeadError\n")


def test_completions_have_usage_and_a_finish_reason(start: Start) -> None:
    """Given two lengths, the shorter answer is cut with length, the longer one ends by itself with stop."""
    engine = ready(start("--served-model-name", "chat", "other", "--sim-tps", "1000", "--sim-answer-tokens", "12"))
    cut, whole = engine.complete(5, model="other"), engine.complete(100)
    assert cut["choices"][0]["finish_reason"] == "length"
    assert cut["usage"] == {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6}
    assert (cut["model"], len(cut["choices"][0]["text"].split())) == ("other", 5)
    assert (whole["choices"][0]["finish_reason"], whole["usage"]["completion_tokens"]) == ("stop", 12)


def test_a_streamed_chat_gives_the_same_words_one_by_one(start: Start) -> None:
    """Given a chat request with and without streaming, the pieces add up to the whole and the last one has the usage."""
    engine = ready(start("--sim-tps", "1000"))
    question = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 6}
    whole = engine.ask("/v1/chat/completions", question).json()["choices"][0]["message"]["content"]
    body = engine.ask("/v1/chat/completions", {**question, "stream": True}).text
    events = [line.removeprefix("data: ") for line in body.splitlines() if line]
    pieces = [json.loads(event) for event in events[:-1]]
    assert events[-1] == "[DONE]"
    assert "".join(piece["choices"][0]["delta"]["content"] for piece in pieces) == whole
    assert pieces[-1]["usage"]["completion_tokens"] == 6
    assert pieces[-1]["choices"][0]["finish_reason"] == "length"


def test_models_list_every_served_name(start: Start) -> None:
    """Given two names, vLLM lists two models with their length, and llama.cpp one with its aliases, sorted."""
    names = ("--served-model-name", "zeta", "alpha", "--max-model-len", "4096")
    vllm, llama = ready(start("--dialect", "vllm", *names)), ready(start("--dialect", "llamacpp", *names))
    assert [(m["id"], m["max_model_len"]) for m in vllm.ask("/v1/models").json()["data"]] == [("zeta", 4096), ("alpha", 4096)]
    (only,) = llama.ask("/v1/models").json()["data"]
    assert (only["id"], only["aliases"]) == ("alpha", ["alpha", "zeta"])


@pytest.mark.parametrize(
    ("body", "status"),
    [({"model": "nobody", "prompt": "x"}, 404), ({"prompt": "word " * 4000}, 400), ({"max_tokens": 3}, 400)],
)
def test_requests_that_cannot_be_served_are_refused(start: Start, body: dict[str, Any], status: int) -> None:
    """Given an unknown model, a prompt beyond the context, or no prompt, the answer is an error and nothing is counted."""
    engine = ready(start("--max-model-len", "1024"))
    assert engine.ask("/v1/completions", body).status_code == status
    assert engine.figure("simulated:generation_tokens_total") == 0


def test_the_api_key_is_asked_for(start: Start) -> None:
    """Given a key, completions need it, health does not."""
    engine = ready(start("--api-key", "sk-1"))
    assert engine.ask("/v1/models").status_code == 401
    assert engine.ask("/v1/models", key="sk-1").status_code == 200


@pytest.mark.parametrize(
    ("dialect", "prompt", "generated", "steps"),
    [
        ("simulated", "simulated:prompt_tokens_total", "simulated:generation_tokens_total", "simulated:engine_steps_total"),
        ("vllm", "vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:iteration_tokens_total_count"),
        ("llamacpp", "llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total", "llamacpp:n_decode_total"),
        ("sglang", "sglang:prompt_tokens_total", "sglang:generation_tokens_total", "sglang:generation_tokens_total"),
    ],
)
def test_tokens_are_counted_under_the_dialects_names(
    start: Start, dialect: str, prompt: str, generated: str, steps: str
) -> None:
    """Given one answer of ten tokens, each dialect's own counters say so."""
    engine = ready(start("--dialect", dialect, "--sim-tps", "1000"))
    engine.complete(10)
    assert (engine.figure(prompt), engine.figure(generated)) == (1, 10)
    assert engine.figure(steps) >= 10


def test_more_requests_than_slots_wait(start: Start) -> None:
    """Given one slot and two requests, one runs while the other waits, and llama.cpp's slots show the busy one."""
    engine = ready(start("--dialect", "llamacpp", "--max-num-seqs", "1", "--sim-hang"))
    for _ in range(2):
        threading.Thread(target=_ask_in_vain, args=(engine,), daemon=True).start()
    until(lambda: engine.figure("llamacpp:requests_deferred") == 1)
    assert engine.figure("llamacpp:requests_processing") == 1
    assert [slot["is_processing"] for slot in engine.ask("/slots").json()] == [True]


def test_a_hung_engine_keeps_its_health_and_its_counters(start: Start) -> None:
    """Given a hang, health stays 200 and a request runs, while no step is counted."""
    engine = ready(start("--sim-hang"))
    threading.Thread(target=_ask_in_vain, args=(engine,), daemon=True).start()
    until(lambda: engine.figure("simulated:requests_running") == 1)
    assert engine.figure("simulated:engine_steps_total") == 0
    assert engine.status() == 200


def test_term_lets_a_running_answer_finish(start: Start) -> None:
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


def test_term_cuts_an_answer_at_the_limit(start: Start) -> None:
    """Given an answer that never ends and a short drain, the process ends with 0 all the same."""
    engine = ready(start("--sim-hang", "--sim-drain-s", "0.2"))
    threading.Thread(target=_ask_in_vain, args=(engine,), daemon=True).start()
    until(lambda: engine.figure("simulated:requests_running") == 1)
    assert engine.stop() == 0


def test_term_while_loading_is_no_clean_exit(start: Start) -> None:
    """Given an engine that still loads, TERM ends it with the code of a terminated process."""
    engine = start("--sim-load-s", "30")
    until(lambda: engine.status() == 503)
    assert engine.stop() == 128 + signal.SIGTERM


def test_an_engine_can_ignore_term(start: Start) -> None:
    """Given one that ignores TERM, it serves on after it."""
    engine = ready(start("--sim-ignore-term", "--sim-tps", "1000"))
    engine.process.terminate()
    assert engine.complete(3)["usage"]["completion_tokens"] == 3
    assert engine.process.poll() is None


def test_flag_beats_variable_beats_json(start: Start) -> None:
    """Given the same behaviour told three ways, the flag holds, then the variable, then the JSON."""
    told = {"STEWARD_SIM": '{"answer_tokens": 3, "tps": 1000, "ttft_s": 0}', "STEWARD_SIM_ANSWER_TOKENS": "4"}
    by_variable, by_flag = start(environment=told), start("--sim-answer-tokens", "5", environment=told)
    assert ready(by_variable).complete(100)["usage"]["completion_tokens"] == 4
    assert ready(by_flag).complete(100)["usage"]["completion_tokens"] == 5


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"STEWARD_SIM": '{"speed": 3}'}, "STEWARD_SIM is not an object with keys out of answer_tokens"),
        ({"STEWARD_SIM": "{"}, "STEWARD_SIM is not JSON"),
        ({"STEWARD_SIM_LOAD_S": "soon"}, "argument --sim-load-s: invalid float value: 'soon'"),
        ({"STEWARD_SIM_HANG": "perhaps"}, "argument --sim-hang"),
        ({"STEWARD_SIM_LOAD_PHASE": "502"}, "--sim-load-phase is refused or 503"),
    ],
)
def test_wrong_behaviour_ends_it_with_one_sentence(start: Start, environment: dict[str, str], said: str) -> None:
    """Given a misspelt or misshapen instruction, it does not start, and says which one without a traceback."""
    engine = start(environment=environment)
    assert engine.process.wait(LIMIT_S) == 2
    assert said in engine.log
    assert "Traceback" not in engine.log


def test_a_taken_port_is_named(start: Start) -> None:
    """Given a port that another process listens on, it exits 1 with the port in an engine's words."""
    holder = ready(start())
    late = start("--port", str(holder.port))
    assert late.process.wait(LIMIT_S) == 1
    assert f"[Errno 98] Address already in use: could not bind 127.0.0.1:{holder.port}" in late.log


def _ask_in_vain(engine: Running) -> None:
    """A request whose answer never comes: the engine ends first."""
    try:
        engine.complete(5)
    except httpx.TransportError:
        return
