"""The page for Prometheus: every agreed name, nothing that is not known, nothing of an instance that is gone."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from prometheus_client import REGISTRY
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from controller.model.events import Event
from controller.model.observed import EngineMetrics
from controller.model.plan import Plan
from controller.model.status import Condition, InstanceStatus, State, Status, Truth
from observability.metrics import Metrics
from observability.tally import REASONS_AT_MOST
from tests.unit.shown import CARDS, CHAT, EMBED, FINE, NOW, STATUS


def samples(metrics: Metrics, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """Every sample of that exact name, by its labels without `rig`."""
    page = metrics.exposition("")[0].decode()
    found: dict[tuple[tuple[str, str], ...], float] = {}
    for family in plain_families(page):
        for sample in family.samples:
            if sample.name == name:
                found[tuple(sorted((k, v) for k, v in sample.labels.items() if k != "rig"))] = sample.value
    return found


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """One sample, or None when it is absent."""
    return samples(metrics, name).get(tuple(sorted(labels.items())))


def shown(status: Status) -> Metrics:
    """Metrics that have seen one pass."""
    metrics = Metrics()
    metrics.passed("start", "done", 0.004, NOW)
    metrics.show(status)
    return metrics


def only(*instances: InstanceStatus) -> Status:
    """A fine rig of these instances."""
    return replace(FINE, instances=instances)


def died(instance: str, message: str) -> Event:
    """An engine that exited after it was ready."""
    return Event(NOW, "EngineExited", message, instance, level="warning")


def test_names_and_values_of_the_contract() -> None:
    """Given a rig after a pass, when it is scraped, then the agreed names carry its figures."""
    metrics = shown(STATUS)
    assert value(metrics, "steward_last_successful_pass_timestamp_seconds") == NOW.wall
    assert value(metrics, "steward_source_last_fetch_success_timestamp_seconds") == NOW.wall
    assert value(metrics, "steward_config_accepted") == 0
    assert value(metrics, "steward_passes_total", trigger="start", result="done") == 1
    assert value(metrics, "steward_pass_duration_seconds_count") == 1
    assert value(metrics, "steward_pass_duration_seconds_bucket", le="0.005") == 1
    assert value(metrics, "steward_pass_duration_seconds_sum") == 0.004
    assert (
        value(metrics, "steward_instance_info", instance="chat", engine="vllm-generic", model="qwen", compose="vllm/generic")
        == 1
    )
    expected = {
        "steward_instance_ready": 1,
        "steward_instance_synced": 1,
        "steward_instance_generation_tokens_total": 1000,
        "steward_instance_prompt_tokens_total": 50,
        "steward_instance_decode_tokens_per_second": 41.23,
        "steward_instance_requests_running": 1,
        "steward_instance_requests_waiting": 0,
        "steward_instance_kv_cache_usage_ratio": 0.25,
        "steward_instance_draft_acceptance_ratio": 0.6,
    }
    assert {name: value(metrics, name, instance="chat") for name in expected} == expected
    assert value(metrics, "steward_instance_boot_duration_seconds", instance="chat", phase="total") == 92.5
    assert value(metrics, "steward_instance_ready", instance="code") == 0
    assert value(metrics, "steward_instance_synced", instance="code") == 0


def test_every_series_names_its_rig_and_the_build_its_version() -> None:
    """Given a scrape, when its series are read, then each has the label `rig`, and the build has a version."""
    page = shown(STATUS).exposition("")[0].decode()
    every = [sample for family in plain_families(page) for sample in family.samples]
    assert {sample.labels.get("rig") for sample in every} == {"home"}
    assert all(sample.name.startswith("steward_") for sample in every)
    assert [sample.labels["version"] for sample in every if sample.name == "steward_build_info"] != [""]


def test_all_states_are_told_and_one_is_true() -> None:
    """Given an instance, when it is scraped, then each state has a series and only the present one is 1."""
    found = samples(shown(only(CHAT)), "steward_instance_state")
    assert {dict(labels)["state"]: number for labels, number in found.items()} == {
        s.value: float(s is State.READY) for s in State
    }


def test_waived_rules_are_told_one_series_each() -> None:
    """Given an instance with waivers that count, when it is scraped, then each rule has a series; without one there is none."""
    found = samples(shown(only(replace(CHAT, waived=("C12", "E3")))), "steward_instance_waived")
    assert {dict(labels)["rule"]: number for labels, number in found.items()} == {"C12": 1.0, "E3": 1.0}
    assert samples(shown(only(CHAT)), "steward_instance_waived") == {}


def test_gpus_are_told_by_uuid_and_index() -> None:
    """Given two cards, when they are scraped, then what is known has a series and what is not has none."""
    metrics = shown(STATUS)
    first, second = ({"uuid": card.uuid, "gpu": str(card.index)} for card in CARDS)
    expected = {
        "memory_total_bytes": 24 * 2**30,
        "memory_used_bytes": int(21.5 * 2**30),
        "memory_foreign_bytes": 2**29,
        "power_watts": 244.6,
        "power_limit_watts": 280,
        "temperature_celsius": 61,
        "utilization_ratio": 0.93,
        "healthy": 1,
    }
    assert {name: value(metrics, f"steward_gpu_{name}", **first) for name in expected} == expected
    told = {name: value(metrics, f"steward_gpu_{name}", **second) for name in expected}
    assert {name: number for name, number in told.items() if number is not None} == {
        "memory_total_bytes": 24 * 2**30,
        "healthy": 0,
    }


def test_what_is_unknown_is_absent() -> None:
    """Given an instance that tells nothing, when it is scraped, then no series claims 0 for it."""
    metrics = shown(only(EMBED))
    page = metrics.exposition("")[0].decode()
    names = {s.name for f in plain_families(page) for s in f.samples if s.labels.get("instance") == "embed"}
    assert names == {"steward_instance_info", "steward_instance_state", "steward_instance_ready"}
    odd = replace(CHAT, metrics=EngineMetrics(generation_tokens=float("nan"), running=float("inf"), draft_tokens=0.0))
    for name in ("generation_tokens_total", "requests_running", "draft_acceptance_ratio"):
        assert value(shown(only(odd)), f"steward_instance_{name}", instance="chat") is None


def test_a_revision_that_was_not_judged_is_neither_accepted_nor_refused() -> None:
    """Given a condition that is Unknown, when it is scraped, then `config_accepted` is absent."""
    waiting = Condition("ConfigAccepted", Truth.UNKNOWN, "NotJudged")
    assert samples(shown(replace(FINE, conditions=(waiting,))), "steward_config_accepted") == {}
    assert value(shown(FINE), "steward_config_accepted") == 1


def test_before_the_first_pass_nothing_is_claimed() -> None:
    """Given a process without a pass, when it is scraped, then there is a build and no timestamp."""
    metrics = Metrics()
    page = metrics.exposition("")[0].decode()
    names = {sample.name for family in plain_families(page) for sample in family.samples}
    assert "steward_build_info" in names
    assert "steward_last_successful_pass_timestamp_seconds" not in names


def test_a_failed_pass_is_no_success() -> None:
    """Given a pass that failed after a good one, when it is scraped, then it counts and the success stays the earlier one."""
    metrics = shown(FINE)
    metrics.passed("relist", "failed", 10.5, replace(NOW, wall=NOW.wall + 60))
    assert value(metrics, "steward_passes_total", trigger="relist", result="failed") == 1
    assert value(metrics, "steward_last_successful_pass_timestamp_seconds") == NOW.wall
    assert value(metrics, "steward_pass_duration_seconds_bucket", le="10.0") == 1
    assert value(metrics, "steward_pass_duration_seconds_bucket", le="30.0") == 2


def test_an_unreadable_source_keeps_its_last_time() -> None:
    """Given a source that cannot be read any more, when it is scraped, then the time of the last good reading stays."""
    metrics = shown(FINE)
    broken = (Condition("SourceReady", Truth.FALSE, "Unreadable"),)
    metrics.show(replace(FINE, at=replace(NOW, wall=NOW.wall + 60), conditions=broken))
    assert value(metrics, "steward_source_last_fetch_success_timestamp_seconds") == NOW.wall


def test_labels_are_bounded() -> None:
    """Given words that nobody agreed on, when they are counted, then they are `other`: labels cannot grow without end."""
    metrics = shown(FINE)
    for number in range(500):
        metrics.passed(f"t{number}", f"r{number}", 0.1, NOW)
        metrics.acted("chat", f"a{number}", f"r{number}")
        metrics.event(died("chat", f"Reason{number}: it died; start 1 again in 10 s"))
    assert value(metrics, "steward_passes_total", trigger="other", result="other") == 500
    assert samples(metrics, "steward_actions_total") == {
        (("action", "other"), ("instance", "chat"), ("result", "other")): 500.0
    }
    restarts = samples(metrics, "steward_instance_restarts_total")
    assert len(restarts) == REASONS_AT_MOST + 1
    assert sum(restarts.values()) == 500
    assert restarts[("instance", "chat"), ("reason", "other")] == 500 - REASONS_AT_MOST


def test_restarts_are_counted_by_reason() -> None:
    """Given engines that died, when it is scraped, then each death counts under its reason, and other lines do not."""
    metrics = shown(FINE)
    metrics.event(died("chat", "HostOutOfMemory: killed by the kernel; start 1 again in 10 s"))
    metrics.event(died("chat", "HostOutOfMemory: killed by the kernel; start 2 again in 20 s"))
    metrics.event(died("chat", "it just went"))
    metrics.event(replace(died("chat", "exited"), cause="ExitedUnexpectedly"))
    metrics.event(Event(NOW, "BootFailed", "BootStalled: no progress", "chat"))
    assert {dict(labels)["reason"]: n for labels, n in samples(metrics, "steward_instance_restarts_total").items()} == {
        "HostOutOfMemory": 2,
        "other": 1,
        "ExitedUnexpectedly": 1,
    }


def test_series_of_a_pruned_instance_vanish() -> None:
    """Given an instance that leaves the estate, when its last step is done, then no series names it any more."""
    metrics = shown(STATUS)
    metrics.acted("code", "drain", "done")
    metrics.event(died("code", "ExitedUnexpectedly: exit 0"))
    leaving = replace(STATUS, instances=(CHAT,))
    metrics.show(leaving)
    assert value(metrics, "steward_actions_total", instance="code", action="drain", result="done") == 1
    metrics.acted("code", "prune", "done")
    metrics.show(replace(leaving, plan=Plan()))
    assert b'instance="code"' not in metrics.exposition("")[0]


def test_an_action_on_the_rig_itself_stays() -> None:
    """Given an action without an instance, when statuses pass, then its count stays."""
    metrics = shown(FINE)
    metrics.acted("", "set-power-limit", "done")
    metrics.show(FINE)
    assert value(metrics, "steward_actions_total", instance="", action="set-power-limit", result="done") == 1


def test_token_counters_survive_a_new_container() -> None:
    """Given an engine that is replaced, when its counter begins again, then ours goes on from where it was."""
    metrics = shown(only(CHAT))
    metrics.show(only(replace(CHAT, engine_id="", metrics=None)))
    assert value(metrics, "steward_instance_generation_tokens_total", instance="chat") is None
    fresh = replace(CHAT, engine_id="e" * 64, metrics=EngineMetrics(generation_tokens=2000.0))
    metrics.show(only(fresh))
    assert value(metrics, "steward_instance_generation_tokens_total", instance="chat") == 3000
    metrics.show(only(replace(fresh, metrics=EngineMetrics(generation_tokens=5.0))))
    assert value(metrics, "steward_instance_generation_tokens_total", instance="chat") == 3005


def test_counters_are_kept_while_no_estate_is_in_force() -> None:
    """Given a pass in which no estate was in force, when the estate is back, then the counters went on."""
    metrics = shown(only(CHAT))
    metrics.show(Status("home", NOW, "r2", "", False))
    again = replace(CHAT, engine_id="e" * 64, metrics=EngineMetrics(generation_tokens=1.0))
    metrics.show(only(again))
    assert value(metrics, "steward_instance_generation_tokens_total", instance="chat") == 1001


def test_odd_label_values_cannot_break_the_page() -> None:
    """Given a model name with quotes, backslashes and newlines, when it is scraped, then it is read back as it was."""
    model = 'a"b\\c\nd{}'
    page = shown(only(replace(CHAT, model=model))).exposition("")[0].decode()
    read = [s.labels["model"] for f in plain_families(page) for s in f.samples if s.name == "steward_instance_info"]
    assert read == [model]


@pytest.mark.parametrize("accept", ["", "text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0"])
def test_both_formats_parse(accept: str) -> None:
    """Given a scraper of either format, when it asks, then it gets that format and it parses."""
    body, content_type = shown(STATUS).exposition(accept)
    is_open = accept.startswith("application/openmetrics-text")
    assert content_type.startswith("application/openmetrics-text" if is_open else "text/plain")
    families = list((open_families if is_open else plain_families)(body.decode()))
    assert len({family.name for family in families}) == len(families) > 20


def test_the_global_registry_stays_empty_of_ours() -> None:
    """Given metrics, when they are made twice, then they share nothing and the process-global registry knows none of them."""
    first, second = shown(FINE), Metrics()
    assert value(second, "steward_passes_total", trigger="start", result="done") is None
    assert value(first, "steward_passes_total", trigger="start", result="done") == 1
    assert not [family for family in REGISTRY.collect() if family.name.startswith("steward_")]


def test_scrapes_and_passes_at_once() -> None:
    """Given a loop that records while others scrape, when both go on at once, then every scrape parses and nothing is lost."""
    metrics, broken = shown(FINE), []

    def scrape() -> None:
        try:
            for _ in range(30):
                list(plain_families(metrics.exposition("")[0].decode()))
        except Exception as error:  # noqa: BLE001 - handed to the test's own thread
            broken.append(error)

    scrapers = [threading.Thread(target=scrape) for _ in range(3)]
    for thread in scrapers:
        thread.start()
    for number in range(300):
        metrics.acted("chat", "start", "done")
        metrics.show(FINE if number % 2 else replace(FINE, plan=Plan()))
    for thread in scrapers:
        thread.join(30)
    assert broken == []
    assert value(metrics, "steward_actions_total", instance="chat", action="start", result="done") == 300
