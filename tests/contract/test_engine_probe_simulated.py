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
from controller.model.observed import Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known
from controller.model.resolved import Readiness, Serving
from controller.ports import ProbeTarget
from controller.settings import Bounds
from tests.contract.http_servers import free_port

ENGINE = Path(__file__).parents[2] / "controller" / "simulation" / "engine_server.py"
NOW = Instant(1_800_000_000.0, 50.0)


@contextmanager
def engine(name: DialectName, *flags: str) -> Iterator[int]:
    """A simulated engine that serves `chat`; its port."""
    port = free_port()
    command = [sys.executable, str(ENGINE), "--dialect", name.value, "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen([*command, "--served-model-name", "chat", "alias", *flags], stdout=subprocess.DEVNULL)
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


@pytest.mark.parametrize("name", sorted(DIALECTS.keys() - {DialectName.GENERIC}))
def test_engine_boots_into_serving(ask: Callable[..., Probe], name: DialectName) -> None:
    """Refused or loading first, as its type does; then the name, a completion, and its own figures."""
    with engine(name, "--sim-load-s", "0.5") as port:
        answers = until(serving, lambda: ask(name, port))
        again = ask(name, port)
    assert {found.phase for found in answers[:-1]} <= {ServePhase.REFUSED, ServePhase.LOADING}
    assert len(answers) > 1
    assert again.served is True
    assert again.completion is not None
    assert again.completion.ok, again.completion.detail
    assert isinstance(again.metrics, Known)
    assert again.metrics.value.running == 0
    assert again.metrics.value.generation_tokens == 2 * again.completion.tokens


def test_loading_llamacpp_answers_503(ask: Callable[..., Probe]) -> None:
    """It is up at once and says that it loads."""
    with engine(DialectName.LLAMACPP, "--sim-load-s", "30") as port:
        found = until(lambda p: p.phase is not ServePhase.REFUSED, lambda: ask(DialectName.LLAMACPP, port))[-1]
    assert found.phase is ServePhase.LOADING
    assert "Loading model" in found.detail


def test_key_opens_and_its_absence_is_named(ask: Callable[..., Probe]) -> None:
    """Every probe sends the key; without it the engine counts as failing."""
    with engine(DialectName.VLLM, "--api-key", "sk-1") as port:
        until(serving, lambda: ask(DialectName.VLLM, port, "sk-1"))
        refused = ask(DialectName.VLLM, port)
    assert refused.phase is ServePhase.FAILING
    assert "api key is refused" in refused.detail


def test_hung_engine_has_health_and_no_completion(ask: Callable[..., Probe]) -> None:
    """srv-05 seen by a probe: 200 on health, and nothing ever decoded."""
    with engine(DialectName.VLLM, "--sim-hang") as port:
        found = until(serving, lambda: ask(DialectName.VLLM, port))[-1]
    assert found.completion is not None
    assert not found.completion.ok
    assert "within 1 s" in found.completion.detail


def test_tenant_answers_on_its_page(ask: Callable[..., Probe]) -> None:
    """A generic tenant is as ready as its page."""
    with engine(DialectName.GENERIC) as port:
        found = until(serving, lambda: ask(DialectName.GENERIC, port))[-1]
    assert found.completion is None
