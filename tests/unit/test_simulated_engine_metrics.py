"""The metrics pages of the simulated engine: valid, under the names of each version, and with figures that add up."""

from __future__ import annotations

import itertools

import pytest
from prometheus_client.parser import text_string_to_metric_families

from controller.dialects.exposition import samples
from controller.dialects.registry import DIALECTS
from controller.model.profile import DialectName
from controller.simulation.engine.counts import Counts, Meter
from controller.simulation.engine.figures import Load, figures
from controller.simulation.engine.metric_tables import TABLES, families
from controller.simulation.engine.metrics import Figure, page

VERSIONS = [(dialect, version) for dialect, versions in TABLES.items() for version in versions]
SPOKEN = [(DialectName(dialect), version) for dialect, version in VERSIONS if DialectName(dialect) in DIALECTS]


def worked() -> dict[str, Figure]:
    """The figures of an engine that answered one prompt of 10 tokens with 30."""
    counts = Counts()
    counts.prefill(10, 0.5, 0.7)
    for _ in range(30):
        counts.decode(1, 0.02, 1, 0.5)
    counts.finish(cut=False, token_s=0.02)
    averages = Meter(0.0).averages(counts, 10.0)
    return {"started_at": 1.8e9, **averages, **figures(counts, Load(2, 1, 250, 1000), 0.5)}


def text_of(dialect: str, version: str | None) -> str:
    """The page of a version after that work."""
    return page(families(dialect, version, drafter=True), worked(), 'qu"ote\\d')


@pytest.mark.parametrize(("dialect", "version"), VERSIONS)
def test_pages_are_valid(dialect: str, version: str) -> None:
    """Given each page, then it parses, no family comes twice, counters end with _total, and labels are escaped."""
    text = text_of(dialect, version)
    types = dict(line.split()[2:] for line in text.splitlines() if line.startswith("# TYPE"))
    assert len(types) == text.count("# TYPE")
    assert all(name.endswith("_total") == (kind == "counter") or kind == "histogram" for name, kind in types.items())
    parsed = list(text_string_to_metric_families(text))
    assert {family.type for family in parsed} <= {"counter", "gauge", "histogram"}
    assert sum(len(family.samples) for family in parsed) == len(text.splitlines()) - len(types)
    labels = {sample.labels.get("model_name") for family in parsed for sample in family.samples}
    assert labels <= {None, 'qu"ote\\d'}


@pytest.mark.parametrize(("dialect", "version"), VERSIONS)
def test_histograms_are_cumulative(dialect: str, version: str) -> None:
    """Given each histogram, then its buckets rise to +Inf, which is its count."""
    for family in text_string_to_metric_families(text_of(dialect, version)):
        if family.type == "histogram":
            buckets = [(sample.labels["le"], sample.value) for sample in family.samples if sample.name.endswith("_bucket")]
            assert buckets[-1] == ("+Inf", next(s.value for s in family.samples if s.name.endswith("_count")))
            assert all(low <= high for (_, low), (_, high) in itertools.pairwise(buckets))
            assert next(s.value for s in family.samples if s.name.endswith("_sum")) > 0


@pytest.mark.parametrize(("name", "version"), SPOKEN)
def test_every_version_is_understood(name: DialectName, version: str) -> None:
    """Given a page of any version, when the dialect maps it, then the same figures come out."""
    found = DIALECTS[name].metrics(samples(text_of(name.value, version)))
    assert (found.running, found.waiting, found.generation_tokens, found.prompt_tokens) == (2, 1, 30, 10)
    assert found.steps == (found.generation_tokens if name is DialectName.SGLANG else 31), "SGLang's tokens are its heartbeat"
    assert found.kv_usage == (None if (name, version) == (DialectName.LLAMACPP, "b11549") else 0.25)
    if found.draft_tokens and found.accepted_tokens:
        assert found.accepted_tokens / found.draft_tokens == pytest.approx(0.5)
    without = name in (DialectName.SIMULATED, DialectName.SGLANG) or (name, version) == (DialectName.LLAMACPP, "b5000")
    assert (found.draft_tokens is None) == without


@pytest.mark.parametrize(
    ("version", "there", "gone"),
    [
        ("0.8", {"gpu_cache_usage_perc", "gpu_prefix_cache_queries_total"}, {"kv_cache_usage_perc", "prefix_cache_hits_total"}),
        ("0.11", {"kv_cache_usage_perc", "time_per_output_token_seconds_sum"}, {"gpu_cache_usage_perc"}),
        ("0.33", {"kv_cache_usage_perc", "inter_token_latency_seconds_sum"}, {"time_per_output_token_seconds_sum"}),
    ],
)
def test_names_of_vllm_come_and_go(version: str, there: set[str], gone: set[str]) -> None:
    """Given a version of vLLM, then its page has the names of its time and none of another."""
    names = {name.removeprefix("vllm:") for name in samples(text_of("vllm", version))}
    assert there <= names
    assert not gone & names


def test_an_engine_without_a_drafter_shows_none() -> None:
    """Given no drafter, then vLLM has no figures of drafts."""
    assert "spec_decode" not in page(families("vllm", None, drafter=False), worked(), "m")


def test_there_may_be_no_metrics() -> None:
    """Given `none`, or an engine type without metrics, then there are no families; an unknown version is the newest."""
    assert families("vllm", "none", drafter=True) == ()
    assert families("generic", None, drafter=True) == ()
    assert families("vllm", "9.9", drafter=False) == families("vllm", "0.33", drafter=False)


def test_averages_begin_anew_after_a_reset() -> None:
    """Given a meter that was reset after some work, then its averages are those of the work since, and 0 without any."""
    counts, meter = Counts(), Meter(0.0)
    counts.decode(10, 0.1, 10, None)
    assert meter.averages(counts, 20.0)["generation_speed"] == pytest.approx(10)
    assert meter.averages(counts, 20.0)["generation_throughput"] == pytest.approx(0.5)
    meter.reset(counts, 20.0)
    assert set(meter.averages(counts, 30.0).values()) == {0.0}
    counts.decode(10, 0.02, 10, None)
    assert meter.averages(counts, 30.0)["generation_speed"] == pytest.approx(50)
