"""The HTTP probe against the simulated engine in each engine type's manner."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller.adapters.http_probe import HttpProbe
from controller.dialects.registry import DIALECTS
from controller.model.moment import Instant
from controller.model.observed import EngineMetrics, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known
from controller.model.resolved import Readiness, Serving
from controller.ports import ProbeTarget
from controller.settings import Bounds
from tests.contract.http_servers import free_port

ROOT = Path(__file__).parents[2]
NOW = Instant(1_800_000_000.0, 50.0)


@contextmanager
def engine(name: DialectName, *flags: str) -> Iterator[int]:
    """A simulated engine that serves `chat`; its port."""
    port = free_port()
    command = [sys.executable, "-m", "controller.simulation.engine", "--dialect", name.value, "--host", "127.0.0.1"]
    command += ["--port", str(port), "--served-model-name", "chat", "alias", *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
    try:
        yield port
    finally:
        process.kill()
        process.wait(10)


@pytest.fixture
def ask() -> Iterator[Callable[..., Probe]]:
    """Probes an engine once."""
    probe = HttpProbe(Bounds())

    def once(name: DialectName, port: int, api_key: str = "") -> Probe:
        serving = Serving(name, port, served_names=("chat", "alias"), readiness=Readiness("http", "/"))
        return probe.probe(ProbeTarget("c1", serving, 5.0, 1.0, True, api_key), NOW)

    yield once
    probe.close()


def until(wanted: Callable[[Probe], bool], ask: Callable[[], Probe]) -> list[Probe]:
    """Every answer up to the first wanted one."""
    answers = []
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        answers.append(ask())
        if wanted(answers[-1]):
            return answers
        time.sleep(0.02)
    raise AssertionError(f"never came: {answers[-1]}")


def serving(found: Probe) -> bool:
    """Whether the engine serves."""
    return found.phase is ServePhase.SERVING


def metrics(found: Probe) -> EngineMetrics:
    """Its figures, which must be known."""
    assert isinstance(found.metrics, Known), found
    return found.metrics.value


@pytest.mark.parametrize("name", sorted(DIALECTS.keys() - {DialectName.GENERIC}))
def test_engine_boots_into_serving(ask: Callable[..., Probe], name: DialectName) -> None:
    """Given a booting engine, it is refused or loading first, as its type does; then it has name, completion and figures."""
    with engine(name, "--sim-load-s", "1") as port:
        answers = until(serving, lambda: ask(name, port))
        again = ask(name, port)
    assert {found.phase for found in answers[:-1]} <= {ServePhase.REFUSED, ServePhase.LOADING}
    assert len(answers) > 1
    assert again.served is True
    assert again.completion is not None
    assert again.completion.ok, again.completion.detail
    assert metrics(again).running == 0
    assert metrics(again).generation_tokens == 2 * again.completion.tokens


def test_loading_llamacpp_answers_503(ask: Callable[..., Probe]) -> None:
    """Given a llama.cpp that loads, it is up at once and says that it loads."""
    with engine(DialectName.LLAMACPP, "--sim-load-s", "30") as port:
        found = until(lambda p: p.phase is not ServePhase.REFUSED, lambda: ask(DialectName.LLAMACPP, port))[-1]
    assert found.phase is ServePhase.LOADING
    assert "Loading model" in found.detail


def test_key_opens_and_its_absence_is_named(ask: Callable[..., Probe]) -> None:
    """Given an engine with a key, every probe sends it; without it the engine counts as failing."""
    with engine(DialectName.VLLM, "--api-key", "sk-1") as port:
        until(serving, lambda: ask(DialectName.VLLM, port, "sk-1"))
        refused = ask(DialectName.VLLM, port)
    assert refused.phase is ServePhase.FAILING
    assert "api key is refused" in refused.detail


@pytest.mark.parametrize("version", ["0.8", "0.11", "0.33"])
def test_figures_of_every_version_of_vllm(ask: Callable[..., Probe], version: str) -> None:
    """Given a busy vLLM of any version, its names of metrics give the same figures."""
    with engine(DialectName.VLLM, "--sim-metrics", version, "--sim-requests", "2", "--sim-tps", "500") as port:
        until(serving, lambda: ask(DialectName.VLLM, port))
        found = until(lambda p: bool(metrics(p).generation_tokens), lambda: ask(DialectName.VLLM, port))[-1]
    assert metrics(found).running == 2
    assert 0 < (metrics(found).kv_usage or 0) < 1
    assert (metrics(found).steps or 0) > 0


@pytest.mark.parametrize(("answers", "ok"), [("thinking", True), ("garbage", True), ("empty", False)])
@pytest.mark.parametrize("name", [DialectName.VLLM, DialectName.LLAMACPP])
def test_a_completion_counts_by_its_tokens(ask: Callable[..., Probe], name: DialectName, answers: str, ok: bool) -> None:
    """Given answers of one kind, reasoning alone counts as a completion, an answer without a token does not."""
    with engine(name, "--sim-answers", answers) as port:
        found = until(serving, lambda: ask(name, port))[-1]
    assert found.completion is not None
    assert found.completion.ok is ok, found.completion.detail


def test_a_thinker_that_ends_before_its_first_word_has_completed(ask: Callable[..., Probe]) -> None:
    """Given reasoning that ends by itself without a word of content, it counts as a completion."""
    with engine(DialectName.VLLM, "--sim-answers", "thinking", "--sim-answer-tokens", "3") as port:
        found = until(serving, lambda: ask(DialectName.VLLM, port))[-1]
    assert found.completion is not None
    assert found.completion.ok, found.completion.detail
    assert "finish reason stop" in found.completion.detail


def test_hung_engine_has_health_and_no_completion(ask: Callable[..., Probe]) -> None:
    """Given an engine that hangs (srv-05), health says 200, and nothing is ever decoded."""
    with engine(DialectName.VLLM, "--sim-hang") as port:
        found = until(serving, lambda: ask(DialectName.VLLM, port))[-1]
        again = ask(DialectName.VLLM, port)
    assert found.completion is not None
    assert not found.completion.ok
    assert "within 1 s" in found.completion.detail
    assert metrics(again).steps == 0
    assert (metrics(again).running or 0) >= 1


def test_a_busy_engine_may_say_503_and_still_counts(ask: Callable[..., Probe]) -> None:
    """Given health that is 503 under load (srv-06), it seems to load, and its figures go on."""
    with engine(DialectName.LLAMACPP, "--sim-busy-503", "--sim-requests", "1") as port:
        found = until(lambda p: p.phase is ServePhase.LOADING, lambda: ask(DialectName.LLAMACPP, port))[-1]
        before = metrics(found).generation_tokens or 0
        until(lambda p: (metrics(p).generation_tokens or 0) > before, lambda: ask(DialectName.LLAMACPP, port))
    assert "busy" in found.detail


def test_tenant_answers_on_its_page(ask: Callable[..., Probe]) -> None:
    """Given a generic tenant, it is as ready as its page."""
    with engine(DialectName.GENERIC) as port:
        found = until(serving, lambda: ask(DialectName.GENERIC, port))[-1]
    assert found.completion is None
