"""The simulated engine while it serves: answers, refusals, health, counters, and what its script makes of them."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from controller.simulation.engine.config import Config
from controller.simulation.engine.figures import Load
from controller.simulation.engine.log import Log
from controller.simulation.engine.script import Change, Script
from controller.simulation.engine.wire import script_to_json
from tests.programs.engine_program import LIMIT_S, Engines, Running, ready, until

QUESTION = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 6}


def streamed(engine: Running, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The pieces of a streamed chat answer, which must end with [DONE]."""
    text = engine.ask("/v1/chat/completions", {**body, "stream": True}).text
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert events[-1] == "[DONE]"
    return [json.loads(event) for event in events[:-1]]


# -- answers


def test_completions_have_usage_and_a_finish_reason(start: Engines) -> None:
    """Given two lengths, the shorter answer is cut with length, the longer one ends by itself with stop."""
    engine = ready(start("--served-model-name", "chat", "other", "--sim-tps", "1000", "--sim-answer-tokens", "12"))
    cut, whole = engine.complete(5, model="other"), engine.complete(100)
    assert cut["choices"][0]["finish_reason"] == "length"
    assert cut["usage"] == {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6}
    assert (cut["model"], len(cut["choices"][0]["text"].split())) == ("other", 5)
    assert (whole["choices"][0]["finish_reason"], whole["usage"]["completion_tokens"]) == ("stop", 12)


@pytest.mark.parametrize(
    ("answers", "content", "reasoning", "tokens", "finish"),
    [
        ("words", True, False, 6, "length"),
        ("garbage", True, False, 6, "length"),
        ("thinking", False, True, 6, "length"),
        ("empty", False, False, 0, "stop"),
    ],
)
def test_answers_are_the_same_whole_and_streamed(
    start: Engines, answers: str, content: bool, reasoning: bool, tokens: int, finish: str
) -> None:
    """Given a kind of answer, the pieces of the stream add up to the whole one, and usage and finish are the same."""
    engine = ready(start("--sim-tps", "1000", "--sim-answers", answers))
    whole = engine.ask("/v1/chat/completions", QUESTION).json()
    message = whole["choices"][0]["message"]
    assert (bool(message["content"]), bool(message.get("reasoning_content"))) == (content, reasoning)
    assert (whole["usage"]["completion_tokens"], whole["choices"][0]["finish_reason"]) == (tokens, finish)
    pieces = streamed(engine, QUESTION)
    for key in ("content", "reasoning_content"):
        assert "".join(piece["choices"][0]["delta"].get(key, "") for piece in pieces) == message.get(key, "")
    assert len(pieces) == tokens + 1
    assert (pieces[-1]["usage"], pieces[-1]["choices"][0]["finish_reason"]) == (whole["usage"], finish)
    assert engine.figure("simulated:generation_tokens_total") == 2 * tokens


def test_garbage_is_exclamation_marks(start: Engines) -> None:
    """Given garbage, a completion is nothing else."""
    assert ready(start("--sim-answers", "garbage")).complete(4)["choices"][0]["text"] == "!!!!"


def test_models_list_every_served_name(start: Engines) -> None:
    """Given two names, vLLM lists two models with their length, and llama.cpp one with its aliases, sorted."""
    names = ("--served-model-name", "zeta", "alpha", "--max-model-len", "4096")
    vllm, llama = ready(start("--dialect", "vllm", *names)), ready(start("--dialect", "llamacpp", *names))
    assert [(m["id"], m["max_model_len"]) for m in vllm.ask("/v1/models").json()["data"]] == [("zeta", 4096), ("alpha", 4096)]
    (only,) = llama.ask("/v1/models").json()["data"]
    assert (only["id"], only["aliases"]) == ("alpha", ["alpha", "zeta"])


def test_another_name_may_be_served(start: Engines) -> None:
    """Given a script that serves another name, that one is listed, and the wanted one is refused."""
    engine = ready(start("--served-model-name", "chat", "--sim-serves", "old", "--dialect", "vllm"))
    assert [model["id"] for model in engine.ask("/v1/models").json()["data"]] == ["old"]
    assert engine.ask("/v1/completions", {"model": "chat", "prompt": "x"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"model": "nobody", "prompt": "x"}, 404),
        ({"prompt": "word " * 4000}, 400),
        ({"max_tokens": 3}, 400),
        ({"prompt": "x", "max_tokens": -3}, 400),
    ],
)
def test_requests_that_cannot_be_served_are_refused(start: Engines, body: dict[str, Any], status: int) -> None:
    """Given an unknown model, a prompt beyond the context, or no prompt, the answer is an error and nothing is counted."""
    engine = ready(start("--max-model-len", "1024"))
    assert engine.ask("/v1/completions", body).status_code == status
    assert engine.figure("simulated:generation_tokens_total") == 0


def test_the_api_key_is_asked_for(start: Engines) -> None:
    """Given a key, completions need it, health does not."""
    engine = ready(start("--api-key", "sk-1"))
    assert engine.ask("/v1/models").status_code == 401
    assert engine.ask("/v1/models", key="sk-1").status_code == 200


def test_a_generic_tenant_answers_every_page(start: Engines) -> None:
    """Given a generic tenant with flags of its own, every page is there and no completion is."""
    engine = start("--dialect", "generic", "--listen", "--own=1")
    until(lambda: engine.status("/whatever") == 200)
    assert engine.ask("/v1/completions", {"prompt": "x"}).status_code == 404


# -- health


@pytest.mark.parametrize("health", ["503", "500"])
def test_health_can_lie(start: Engines, health: str) -> None:
    """Given health as told, that is its status, while the models are listed."""
    engine = start("--sim-health", health)
    until(lambda: engine.status("/ready") == 200)
    assert engine.status() == int(health)
    assert engine.status("/v1/models") == 200


def test_health_can_be_silent(start: Engines) -> None:
    """Given a silent health, until it is told otherwise no answer comes, and the connection is closed without one."""
    engine = start("--sim-health", "silent")
    until(lambda: engine.status("/ready") == 200)
    answers: list[int | None] = []
    asker = threading.Thread(target=lambda: answers.append(engine.status()), daemon=True)
    asker.start()
    asker.join(1.0)
    assert answers == []
    engine.process.kill()
    asker.join(LIMIT_S)
    assert answers == [None]


def test_a_busy_engine_can_say_503(start: Engines) -> None:
    """Given health that is 503 under load, it is 200 while idle and 503 while a request runs."""
    engine = ready(start("--sim-busy-503", "--sim-tps", "20"))
    engine.ask_in_vain()
    until(lambda: engine.status() == 503)


def test_a_hung_engine_keeps_its_health_and_its_counters(start: Engines) -> None:
    """Given a hang, health stays 200 and a request runs, while no step is counted."""
    engine = ready(start("--sim-hang", "--sim-requests", "1"))
    engine.ask_in_vain()
    until(lambda: engine.figure("simulated:requests_running") == 2)
    assert engine.figure("simulated:engine_steps_total") == 0
    assert engine.status() == 200


def test_a_hang_may_end(start: Engines) -> None:
    """Given a hang that ends after a while, the request that waited is answered."""
    script = Script(tps=1000, hang=True, changes=(Change(1.5, {"hang": False}),))
    engine = ready(start(environment={"STEWARD_SIM": script_to_json(script)}))
    assert engine.complete(3)["usage"]["completion_tokens"] == 3


# -- load


def test_more_requests_than_slots_wait(start: Engines) -> None:
    """Given one slot and two requests, one runs while the other waits, and llama.cpp's slots show the busy one."""
    engine = ready(start("--dialect", "llamacpp", "-np", "4", "--sim-concurrency", "1", "--sim-hang"))
    for _ in range(2):
        engine.ask_in_vain()
    until(lambda: engine.figure("llamacpp:requests_deferred") == 1)
    assert engine.figure("llamacpp:requests_processing") == 1
    assert [slot["is_processing"] for slot in engine.ask("/slots").json()] == [True]


def test_nothing_advances_before_the_first_token(start: Engines) -> None:
    """Given a stall of the prefill, while a new request has it, the other one's tokens and all counters stand still."""
    engine = ready(start("--dialect", "vllm", "--sim-prefill-stall-s", "1.5", "--sim-tps", "50"))
    engine.ask_in_vain()
    until(lambda: engine.figure("vllm:generation_tokens_total") > 0)
    engine.ask_in_vain()
    until(lambda: engine.figure("vllm:num_requests_running") == 2)
    before = (engine.figure("vllm:generation_tokens_total"), engine.figure("vllm:iteration_tokens_total_count"))
    assert engine.status() == 200
    assert (engine.figure("vllm:generation_tokens_total"), engine.figure("vllm:iteration_tokens_total_count")) == before
    until(lambda: engine.figure("vllm:generation_tokens_total") > before[0])
    assert engine.figure("vllm:prompt_tokens_total") == 2


def test_llama_servers_metrics_wait_for_the_step(start: Engines) -> None:
    """Given llama.cpp's manner and a stall, health answers at once, and the metrics after it, with the restart detector."""
    engine = ready(start("--dialect", "llamacpp", "--sim-prefill-stall-s", "2", "--sim-tps", "1000"))
    engine.ask_in_vain()
    until(lambda: "processing task" in engine.log)
    assert engine.status() == 200
    found = engine.ask("/metrics")
    assert abs(int(found.headers["Process-Start-Time-Unix"]) - time.time()) < 600
    until(lambda: engine.figure("llamacpp:prompt_tokens_total") == 1)


def test_sglangs_health_waits_for_the_end_of_a_stall(start: Engines) -> None:
    """Given SGLang's manner and a stall of the prefill, health is asked during it and answers 200 once tokens flow."""
    engine = start("--dialect", "sglang", "--sim-prefill-stall-s", "3", "--sim-tps", "1000")
    until(lambda: engine.status("/ready") == 200)
    engine.ask_in_vain()
    until(lambda: "Prefill batch, #new-seq: 1" in engine.log)
    assert engine.figure("sglang:generation_tokens_total") == 0
    assert engine.status() == 200
    until(lambda: engine.figure("sglang:generation_tokens_total") > 0)
    until(lambda: "Decode batch, #running-req:" in engine.log)


def test_made_up_requests_count_without_clients(start: Engines) -> None:
    """Given made-up requests beyond the slots, they run and wait, and tokens, prompts, requests and drafts are counted."""
    told = ("--sim-requests", "3", "--sim-concurrency", "2", "--sim-answer-tokens", "10", "--sim-acceptance", "0.8")
    engine = ready(start("--dialect", "vllm", *told))
    until(lambda: engine.figure("vllm:generation_tokens_total") > 50)
    assert (engine.figure("vllm:num_requests_running"), engine.figure("vllm:num_requests_waiting")) == (2, 1)
    assert engine.figure("vllm:prompt_tokens_total") > 0
    assert engine.figure("vllm:time_to_first_token_seconds_count") > 0
    until(lambda: engine.figure("vllm:spec_decode_num_accepted_tokens_total") > 0)
    assert 0 < engine.figure("vllm:kv_cache_usage_perc") < 1


def test_vllm_logs_its_throughput_while_it_is_busy(capfd: pytest.CaptureFixture[str]) -> None:
    """Given an interval with work and two without, the first two have a line of the log, the third has none."""
    log, script = Log(Config("vllm")), Script()
    for tokens in (45.0, 0.0, 0.0):
        log.report(script, Load(2, 1, 250, 1000), {"prompt_throughput": 0.0, "generation_throughput": tokens})
    first, second = capfd.readouterr().out.splitlines()
    assert "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 45.0 tokens/s, Running: 2 reqs, Waiting: 1" in first
    assert "GPU KV cache usage: 25.0%" in first
    assert "Avg generation throughput: 0.0 tokens/s" in second


def test_gauges_of_averages_are_those_since_the_last_look(start: Engines) -> None:
    """Given llama.cpp, whose every scrape resets its averages, a look right after another one finds nothing."""
    engine = ready(start("--dialect", "llamacpp", "--sim-tps", "200"))
    engine.complete(20)
    assert engine.figure("llamacpp:predicted_tokens_seconds") == pytest.approx(200, rel=0.01)
    assert engine.figure("llamacpp:predicted_tokens_seconds") == 0


@pytest.mark.parametrize(("flags", "second"), [((), 200), (("--sim-metrics-reset",), 0)])
def test_averages_are_reset_by_a_look_where_told(start: Engines, flags: tuple[str, ...], second: int) -> None:
    """Given the simulated engine's own manner, its averages are of all time, or since the last look where told."""
    engine = ready(start("--sim-tps", "200", *flags))
    engine.complete(20)
    assert engine.figure("simulated:generation_tokens_per_second") == pytest.approx(200, rel=0.01)
    assert engine.figure("simulated:generation_tokens_per_second") == pytest.approx(second, rel=0.01)


def test_metrics_may_be_missing(start: Engines) -> None:
    """Given no metrics, their page is not there."""
    assert ready(start("--dialect", "vllm", "--sim-metrics", "none")).status("/metrics") == 404
