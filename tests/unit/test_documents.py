"""The JSON documents: their keys are a contract, and what is not known is null."""

from __future__ import annotations

import json
from dataclasses import replace

from controller.model.events import Event
from controller.model.observed import EngineMetrics
from controller.model.plan import Action, Cause, Plan, Step
from controller.model.problem import Place, Problem, Severity
from controller.model.reading import Known
from observability.documents import event_document, plan_document, status_document, validate_document
from tests.unit.shown import CARDS, CHAT, EMBED, GIB, NOW, PLAN, STATUS


def test_status_has_the_keys_of_the_contract() -> None:
    """Given a rig, when its status becomes a document, then every agreed key is there with its value."""
    document = status_document(STATUS)
    assert document["rig"] == "home"
    assert document["revision"] == {"desired": "77aa88bb99cc", "accepted": "3f2a1b2c4d5e"}
    assert document["converged"] is False
    assert document["conditions"][1] == {
        "type": "ConfigAccepted",
        "status": "False",
        "reason": "Refused",
        "message": "desired/estate.yml:7:5: unknown key `prot`",
    }
    chat = document["instances"][0]
    assert (chat["name"], chat["state"], chat["ready"], chat["port"]) == ("chat", "Ready", True, 8010)
    assert (chat["engine_id"], chat["spec_hash"], chat["revision"]) == ("c" * 64, "a" * 64, "3f2a1b2c4d5e")
    assert chat["gpus"] == [CARDS[0].uuid]
    assert chat["last_action"] == {"action": "start", "cause": "image: a:1 -> a:2", "at": "2027-01-15T05:13:20.000Z"}
    assert [problem["severity"] for problem in document["problems"]] == ["error", "warning"]


def test_an_instance_tells_what_rules_have_against_it() -> None:
    """Given an instance with a waived rule, when it becomes a document, then warnings and waived rules are lists of text."""
    warned = replace(CHAT, warnings=("C12: tight", "E3: no pair"), waived=("E3",))
    (chat,) = status_document(replace(STATUS, instances=(warned,)))["instances"]
    assert (chat["warnings"], chat["waived"]) == (["C12: tight", "E3: no pair"], ["E3"])


def test_status_is_json_whatever_an_engine_reports() -> None:
    """Given an engine that reports NaN and infinity, when the status becomes a document, then they are null and it is JSON."""
    odd = EngineMetrics(generation_tokens=float("nan"), kv_usage=float("inf"), draft_tokens=0.0, accepted_tokens=0.0)
    chat = replace(CHAT, metrics=odd, tps=float("inf"), age_s=float("nan"))
    document = status_document(replace(STATUS, instances=(chat,)))
    text = json.dumps(document, allow_nan=False)
    shown = json.loads(text)["instances"][0]
    assert shown["metrics"] == dict.fromkeys(shown["metrics"], None)
    assert (shown["tps"], shown["age_s"]) == (None, None)


def test_an_engine_without_metrics_has_null_and_no_zeros() -> None:
    """Given an instance that was never scraped, when it becomes a document, then nothing claims to be 0."""
    shown = status_document(replace(STATUS, instances=(EMBED,)))["instances"][0]
    assert (shown["metrics"], shown["tps"], shown["age_s"], shown["boot_seconds"], shown["last_action"]) == (None,) * 5


def test_a_card_gives_the_reason_of_what_could_not_be_read() -> None:
    """Given a card whose memory cannot be read, when it becomes a document, then the figure is null and the reason is told."""
    first, second = status_document(STATUS)["gpus"]
    assert (first["memory_used_bytes"], first["memory_foreign_bytes"], first["instances"]) == (
        int(21.5 * GIB),
        GIB // 2,
        ["chat"],
    )
    assert second["memory_used_bytes"] is None
    assert second["memory_foreign_bytes"] is None
    assert second["unknown"]["memory_used_bytes"] == "the driver gave no answer"
    assert "memory_total_bytes" not in second["unknown"]


def test_nothing_runs_on_a_card_so_nothing_foreign_does() -> None:
    """Given a card of which the driver says that no process uses it, when it becomes a document, then foreign memory is 0."""
    card = replace(CARDS[1], processes=Known(()))
    assert status_document(replace(STATUS, cards=(card,)))["gpus"][0]["memory_foreign_bytes"] == 0


def test_plan_keeps_order_cause_and_what_is_waited_for() -> None:
    """Given a plan, when it becomes a document, then the steps are in order with cause, `after` and `waiting_for`."""
    document = plan_document(PLAN)
    assert [step["id"] for step in document["steps"]] == ["create:code", "drain:code", "stop:code", "start:code", "pull:x"]
    assert document["steps"][1] == {
        "id": "drain:code",
        "action": "drain",
        "instance": "code",
        "cause": {"field": "max_model_len", "old": "4096", "new": "8192"},
        "after": ["create:code"],
        "waiting_for": None,
    }
    assert document["steps"][4]["waiting_for"] == "registry: no answer (try 3 in 8s)"
    assert (document["notes"], document["downtime_s"], document["vram"]) == (["nobody answers on port 8013"], {}, [])


def test_an_empty_plan_is_a_document_too() -> None:
    """Given nothing to do, when the plan becomes a document, then it has no steps."""
    assert plan_document(Plan())["steps"] == []


def test_a_step_shows_nothing_of_its_container() -> None:
    """Given a step, when it becomes a document, then only the agreed keys are there: no argv and no environment."""
    step = plan_document(Plan((Step("a", Action.STOP, "a", Cause("x"), target="t", timeout_s=3.0),)))["steps"][0]
    assert set(step) == {"id", "action", "instance", "cause", "after", "waiting_for"}


def test_warnings_alone_leave_an_estate_valid() -> None:
    """Given warnings and notes, when they are the whole report, then it is valid; one error makes it invalid."""
    soft = [Problem(Severity.WARNING, "w", "m"), Problem(Severity.INFO, "i", "m")]
    assert validate_document(soft)["valid"] is True
    assert validate_document([*soft, Problem(Severity.ERROR, "e", "m")])["valid"] is False
    assert validate_document([]) == {"valid": True, "problems": []}


def test_problems_are_sorted_errors_first_then_by_place() -> None:
    """Given problems in any order, when they become a document, then errors come first, then by place; no place last."""
    problems = [
        Problem(Severity.WARNING, "w", "m", place=Place("a.yml", 1, 1)),
        Problem(Severity.ERROR, "none", "m"),
        Problem(Severity.ERROR, "second", "m", place=Place("b.yml", 2, 9)),
        Problem(Severity.ERROR, "first", "m", "do this", "estate[0]", Place("b.yml", 2, 3)),
    ]
    document = validate_document(problems)
    assert [problem["rule"] for problem in document["problems"]] == ["first", "second", "none", "w"]
    assert document["problems"][0] == {
        "file": "b.yml",
        "line": 2,
        "column": 3,
        "path": "estate[0]",
        "rule": "first",
        "severity": "error",
        "message": "m",
        "hint": "do this",
    }
    assert (document["problems"][2]["file"], document["problems"][2]["line"]) == (None, None)


def test_an_event_has_its_sequence_and_pass() -> None:
    """Given a journal line, when it becomes a document, then sequence, time and pass id are there for whoever follows."""
    event = Event(NOW, "ActionDone", "stop: done", "chat", "image: a -> b", "1800000000-7", "info", 42)
    assert event_document(event) == {
        "sequence": 42,
        "at": "2027-01-15T08:00:00.000Z",
        "level": "info",
        "kind": "ActionDone",
        "instance": "chat",
        "message": "stop: done",
        "cause": "image: a -> b",
        "pass": "1800000000-7",
    }
