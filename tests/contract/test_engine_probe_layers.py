"""What a probe meets of an engine: in memory and of an engine process the same, and what a real llama.cpp can show as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from controller.adapters.http_probe import HttpProbe
from controller.dialects.registry import DIALECTS
from controller.model.observed import Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Unknown
from controller.settings import Bounds
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.script import Script
from controller.simulation.memory_probe import MemoryProbe
from tests.conftest import require
from tests.contract.probe_rigs import LLAMACPP_IMAGE, MODEL, ProbeRig
from tests.contract.rigs import memory_rig, process_rig, real_rig
from tests.docker_fixtures import DockerRig
from tests.engine.tiny_gguf import write_tiny_gguf

LLAMACPP = pytest.param("llamacpp", marks=[pytest.mark.docker, pytest.mark.llamacpp])
UP = Script(log=())


@pytest.fixture(params=["memory", "processes", LLAMACPP])
def engines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ProbeRig]:
    """Engines of any kind."""
    if request.param == "llamacpp":
        yield from _llamacpp(request.getfixturevalue("docker_rig"), tmp_path)
    else:
        yield from _simulated(request.param)


@pytest.fixture(params=["memory", "processes"])
def simulated(request: pytest.FixtureRequest) -> Iterator[ProbeRig]:
    """Engines that do what no real one does when it is told."""
    yield from _simulated(request.param)


def _simulated(kind: str) -> Iterator[ProbeRig]:
    if kind == "memory":
        rig = memory_rig()
        engine = cast(SimulatedEngine, rig.engine)
        yield ProbeRig(rig, MemoryProbe(engine), engine.clock)
        return
    probe = HttpProbe(Bounds())
    with process_rig() as rig:
        yield ProbeRig(rig, probe)
    probe.close()


def _llamacpp(docker: DockerRig, models: Path) -> Iterator[ProbeRig]:
    there = docker.engine.inspect(LLAMACPP_IMAGE) is not None
    require("llamacpp", there, f"{LLAMACPP_IMAGE} is missing (make images)")
    write_tiny_gguf(models / MODEL)
    probe = HttpProbe(Bounds())
    yield ProbeRig(real_rig(docker, lambda: docker.engine), probe, models=models)
    probe.close()


def serving(found: Probe) -> bool:
    """Whether the engine serves."""
    return found.phase is ServePhase.SERVING


# -- what every engine shows


def test_an_engine_boots_into_serving(engines: ProbeRig) -> None:
    """Given an engine that has just been started, when it is asked until it serves, then it was refused or loading before."""
    target = engines.start(Script(load_s=0.5))
    answers = engines.until(target, serving)
    assert {found.phase for found in answers[:-1]} <= {ServePhase.REFUSED, ServePhase.LOADING}
    assert len(answers) > 1
    assert (answers[-1].served, answers[-1].completion) == (True, None)


def test_its_completion_is_fine_and_counted(engines: ProbeRig) -> None:
    """Given an engine that serves, when a completion is asked for, then it has tokens, and the engine's counters have them."""
    target = engines.serving(UP)
    before = engines.metrics(target)
    completion = engines.ask(target).completion
    assert completion is not None
    assert completion.ok, completion.detail
    assert completion.tokens > 0
    engines.rig.wait(lambda: engines.metrics(target).generation_tokens == (before.generation_tokens or 0) + completion.tokens)
    prompt_tokens = engines.metrics(target).prompt_tokens
    assert prompt_tokens is not None
    assert prompt_tokens > (before.prompt_tokens or 0)


def test_an_idle_engine_works_on_nothing(engines: ProbeRig) -> None:
    """Given an engine whose completion is over, when it is asked for its figures, then no request runs or waits."""
    target = engines.serving(UP)
    engines.ask(target)
    engines.rig.wait(lambda: engines.metrics(target).running == 0)
    assert engines.metrics(target).waiting == 0


def test_another_name_is_failing_and_named(engines: ProbeRig) -> None:
    """Given an engine that serves another name, when it is asked, then it is failing, and the name is said."""
    target = engines.serving(Script(log=(), serves="other"))
    found = engines.ask(target)
    assert (found.phase, found.served, found.completion) == (ServePhase.FAILING, False, None)
    assert found.detail == "serves other and not chat"


def test_a_stopped_engine_is_refused(engines: ProbeRig) -> None:
    """Given an engine that was stopped, when it is asked, then nobody is there, and its figures are unknown."""
    target = engines.serving(UP)
    engines.rig.engine.stop(target.container, 20.0)
    found = engines.ask(target)
    assert (found.phase, found.served, found.completion) == (ServePhase.REFUSED, None, None)
    assert isinstance(found.metrics, Unknown)


def test_a_paused_engine_is_silent(engines: ProbeRig) -> None:
    """Given an engine that is frozen, when it is asked, then it lets the time pass, and it serves again when it runs on."""
    target = engines.serving(UP)
    engines.rig.hand.pause(target.container)
    found = engines.ask(target, timeout_s=0.5)
    assert found.phase is ServePhase.SILENT
    assert "within 0.5 s" in found.detail
    engines.rig.engine.unpause(target.container)
    engines.until(target, serving)


# -- what only simulated ones do when they are told


@pytest.mark.parametrize("dialect", sorted(DIALECTS.keys() - {DialectName.GENERIC}))
def test_each_type_loads_in_its_manner(simulated: ProbeRig, dialect: DialectName) -> None:
    """Given a load that lasts, when the engine is up, then llama.cpp says that it loads and vLLM refuses; then both serve."""
    target = simulated.start(Script(load_s=3.0), dialect)
    wanted = ServePhase.REFUSED if dialect in (DialectName.VLLM, DialectName.SGLANG) else ServePhase.LOADING
    answers = simulated.until(target, lambda found: found.phase is wanted or serving(found))
    assert answers[-1].phase is wanted
    simulated.until(target, serving)
    found = simulated.ask(target)
    assert found.completion is not None
    assert found.completion.ok, found.completion.detail
    assert simulated.metrics(target).running == 0


@pytest.mark.parametrize(("told", "phase"), [("refused", ServePhase.REFUSED), ("503", ServePhase.LOADING)])
def test_the_phase_of_a_load_can_be_told(simulated: ProbeRig, told: str, phase: ServePhase) -> None:
    """Given a script that says how it loads, when it is asked, then its type's own manner does not matter."""
    for dialect in (DialectName.VLLM, DialectName.LLAMACPP):
        target = simulated.start(Script(load_s=3.0, load_phase=told), dialect)
        answers = simulated.until(target, lambda found: found.phase is phase or serving(found))
        assert answers[-1].phase is phase
        simulated.rig.hand.remove(target.container)


def test_a_hung_engine_is_healthy_and_completes_nothing(simulated: ProbeRig) -> None:
    """Given an engine that never decodes, when a completion is asked for, then health is 200 and the completion times out."""
    target = simulated.serving(Script(hang=True))
    found = simulated.ask(target, completion_timeout_s=0.5)
    assert found.phase is ServePhase.SERVING
    assert found.completion is not None
    assert not found.completion.ok
    assert "within 0.5 s" in found.completion.detail


@pytest.mark.parametrize(("answers", "ok"), [("words", True), ("garbage", True), ("thinking", True), ("empty", False)])
def test_answers_count_by_their_tokens(simulated: ProbeRig, answers: str, ok: bool) -> None:
    """Given what an engine answers, when a completion is judged, then tokens of any kind are fine and none are not."""
    completion = simulated.ask(simulated.serving(Script(answers=answers))).completion
    assert completion is not None
    assert completion.ok is ok, completion.detail
    assert (completion.tokens > 0) is ok


@pytest.mark.parametrize(
    ("health", "phase"), [("503", ServePhase.LOADING), ("500", ServePhase.FAILING), ("silent", ServePhase.SILENT)]
)
def test_health_can_lie(simulated: ProbeRig, health: str, phase: ServePhase) -> None:
    """Given a health page that answers on its own, when it is asked, then that is the phase, and no completion is tried."""
    target = simulated.start(Script(health=health))
    answers = simulated.until(target, lambda found: found.phase is not ServePhase.REFUSED)
    assert answers[-1].phase is phase
    found = simulated.ask(target, timeout_s=0.5)
    assert (found.phase, found.completion) == (phase, None)


def test_an_engine_can_seem_to_load_while_it_works(simulated: ProbeRig) -> None:
    """Given health that says 503 under load, when it works on a request, then its figures show that it does."""
    target = simulated.start(Script(busy_503=True, requests=1))
    answers = simulated.until(target, lambda found: found.phase is not ServePhase.REFUSED)
    assert answers[-1].phase is ServePhase.LOADING
    before = simulated.metrics(target)
    assert before.running == 1
    simulated.rig.wait(lambda: (simulated.metrics(target).generation_tokens or 0) > (before.generation_tokens or 0))


def test_made_up_requests_are_worked_on(simulated: ProbeRig) -> None:
    """Given more made-up requests than run at once, when its figures are read twice, then tokens were made, and some wait."""
    target = simulated.serving(Script(requests=5, concurrency=2))
    before = simulated.metrics(target)
    assert (before.running, before.waiting) == (2, 3)
    simulated.rig.wait(lambda: (simulated.metrics(target).generation_tokens or 0) > (before.generation_tokens or 0) + 20)


def test_an_engine_may_have_no_metrics(simulated: ProbeRig) -> None:
    """Given an engine without metrics, when it is asked, then it serves and its figures are unknown."""
    found = simulated.ask(simulated.serving(Script(metrics="none")))
    assert found.phase is ServePhase.SERVING
    assert isinstance(found.metrics, Unknown)


def test_an_engine_that_ended_by_itself_is_refused(simulated: ProbeRig) -> None:
    """Given an engine that dies after it was ready, when it is asked, then nobody is there."""
    target = simulated.start(Script(exits_s=3.0))
    simulated.until(target, serving)
    simulated.until(target, lambda found: found.phase is ServePhase.REFUSED)
    simulated.rig.wait(lambda: not simulated.rig.must_see(target.container).running)


def test_a_script_may_change_on_the_way(simulated: ProbeRig) -> None:
    """Given an engine that serves, when its instance is told to hang, then the next completion does not come back."""
    target = simulated.serving(UP)
    cast(SimulatedEngine, simulated.rig.engine).change("one", Script(log=(), hang=True))

    def hangs() -> bool:
        completion = simulated.ask(target, completion_timeout_s=0.3).completion
        return completion is not None and not completion.ok

    simulated.rig.wait(hangs)
