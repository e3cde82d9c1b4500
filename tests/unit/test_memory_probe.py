"""The probe in memory answers as an engine of the type would, and takes as long."""

from __future__ import annotations

import pytest

from controller.model.observed import EngineMetrics, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known, Unknown
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.script import Change, Script
from controller.simulation.hand import SimulatedHand
from controller.simulation.memory_probe import MemoryProbe
from controller.simulation.memory_world import MemoryClock, MemoryWorkers
from tests.unit.simulating import started, target

VLLM, LLAMACPP = DialectName.VLLM, DialectName.LLAMACPP


def ask(engine: SimulatedEngine, clock: MemoryClock, container: str, *, completion: bool = False) -> Probe:
    """One probe now, in the words of the container's engine type."""
    dialect = engine.cells.find(container).dialect
    return MemoryProbe(engine).probe(target(container, completion=completion, dialect=dialect), clock.now())


def figures(probe: Probe) -> EngineMetrics:
    """Its metrics, which must be there."""
    assert isinstance(probe.metrics, Known)
    return probe.metrics.value


@pytest.mark.parametrize(
    ("dialect", "met"),
    [
        (VLLM, [ServePhase.REFUSED, ServePhase.REFUSED, ServePhase.SERVING]),
        (LLAMACPP, [ServePhase.LOADING, ServePhase.LOADING, ServePhase.SERVING]),
        (DialectName.SIMULATED, [ServePhase.LOADING, ServePhase.LOADING, ServePhase.SERVING]),
    ],
)
def test_a_load_is_met_in_the_manner_of_the_type(
    engine: SimulatedEngine, clock: MemoryClock, dialect: DialectName, met: list[ServePhase]
) -> None:
    """Given a load of 10 s, when it is probed, then vLLM refuses, llama.cpp says 503, and both serve after it."""
    engine.default = Script(load_s=10.0)
    made = started(engine, dialect=dialect)
    seen = []
    for seconds in (0.5, 9.0, 1.0):
        clock.advance(seconds)
        seen.append(ask(engine, clock, made).phase)
    assert seen == met


def test_paused_silent_and_ended_engines(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a paused engine, a probe waits in vain for its timeout; given an ended one, the connection is refused."""
    made = started(engine)
    SimulatedHand(engine).pause(made)
    began = clock.mono
    assert ask(engine, clock, made).phase is ServePhase.SILENT
    assert clock.mono == began + 3.0
    SimulatedHand(engine).kill(made)
    assert ask(engine, clock, made).phase is ServePhase.REFUSED


@pytest.mark.parametrize(
    ("script", "phase"),
    [
        (Script(health="503"), ServePhase.LOADING),
        (Script(health="500"), ServePhase.FAILING),
        (Script(health="silent"), ServePhase.SILENT),
        (Script(busy_503=True, requests=1), ServePhase.LOADING),
        (Script(busy_503=True), ServePhase.SERVING),
        (Script(hang=True), ServePhase.SERVING),
        (Script(serves="other"), ServePhase.FAILING),
        (Script(stall_s=0.0, load_s=1.0), ServePhase.LOADING),
    ],
)
def test_health_is_what_the_script_says(engine: SimulatedEngine, clock: MemoryClock, script: Script, phase: ServePhase) -> None:
    """Given a script that bends health, when it is probed, then that is what is met."""
    engine.default = script
    made = started(engine)
    clock.advance(5)
    answer = ask(engine, clock, made)
    assert answer.phase is phase
    assert (answer.served is False) == (script.serves is not None)


@pytest.mark.parametrize(
    ("script", "fine", "seconds"),
    [
        (Script(tps=10.0, ttft_s=0.1), True, 0.5),
        (Script(answers="thinking"), True, 0.06),
        (Script(answers="garbage"), True, 0.06),
        (Script(answers="empty"), False, 0.02),
        (Script(hang=True), False, 10.0),
        (Script(tps=0.1), False, 10.0),
        (Script(prefill_stall_s=4.0), True, 4.06),
    ],
)
def test_a_completion_takes_its_time(
    engine: SimulatedEngine, clock: MemoryClock, script: Script, fine: bool, seconds: float
) -> None:
    """Given a script for its answers, when a completion is asked for, then it is fine or not, after as long as that takes."""
    engine.default = script
    made = started(engine)
    began = clock.mono
    answer = ask(engine, clock, made, completion=True)
    assert answer.completion is not None
    assert answer.completion.ok == fine
    assert clock.mono - began == pytest.approx(seconds)


def test_a_probe_on_a_lane_is_over_when_it_would_be(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a silent engine, when a lane probes it, then the answer comes after the timeout and the clock was not moved."""
    engine.default = Script(health="silent")
    made = started(engine)
    workers, began = MemoryWorkers(clock), clock.mono
    workers.submit("probe", "1", lambda: ask(engine, clock, made))
    assert (clock.mono, workers.next_at()) == (began, began + 3.0)
    assert workers.collect() == ()
    clock.advance(3.0)
    assert len(workers.collect()) == 1


def test_counters_are_exact_over_changes(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given two requests from 5 s to 7 s after a load of 3 s, when it is probed, then exactly their tokens are counted."""
    engine.default = Script(
        load_s=3.0,
        tps=30.0,
        changes=(Change(5.0, {"requests": 2}), Change(7.0, {"requests": 0}), Change(20.0, {"requests": 20})),
    )
    made = started(engine)
    counted = []
    for seconds in (4.0, 2.0, 10.0, 5.0):
        clock.advance(seconds)
        found = figures(ask(engine, clock, made))
        counted.append((found.generation_tokens, found.running, found.waiting))
    assert counted == [(0.0, 0.0, 0.0), (60.0, 2.0, 0.0), (120.0, 0.0, 0.0), (120.0 + 8 * 30.0, 8.0, 12.0)]


def test_own_completions_are_counted_too(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given an idle engine, when it answered two probes, then their tokens are in its counters."""
    made = started(engine)
    before = figures(ask(engine, clock, made)).generation_tokens
    ask(engine, clock, made, completion=True)
    after = figures(ask(engine, clock, made, completion=True))
    assert (before, after.generation_tokens) == (0.0, 8.0)


def test_a_hang_freezes_the_heartbeat_and_a_prefill_for_a_while(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a busy engine, when it hangs from 10 s on, then steps stand still while health says 200."""
    engine.default = Script(requests=1, tps=10.0, changes=(Change(10.0, {"hang": True}),))
    made = started(engine)
    clock.advance(10)
    first = ask(engine, clock, made)
    clock.advance(30)
    second = ask(engine, clock, made)
    assert (first.phase, second.phase) == (ServePhase.SERVING, ServePhase.SERVING)
    assert figures(first).steps == figures(second).steps
    assert figures(second).running == 1.0


def test_a_prefill_of_ours_holds_up_the_others(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a busy engine whose prefills stall all, when a completion is asked for, then its counters stand still."""
    engine.default = Script(requests=1, tps=10.0, prefill_stall_s=5.0)
    made = started(engine)
    clock.advance(10)
    before = figures(ask(engine, clock, made)).generation_tokens
    ask(engine, clock, made, completion=True)
    after = figures(ask(engine, clock, made)).generation_tokens
    assert before == 100.0
    assert after == pytest.approx(100.0 + 4 + 10 * 0.42)


@pytest.mark.parametrize(
    ("dialect", "absent"),
    [
        (VLLM, {"generation_seconds", "draft_tokens", "accepted_tokens"}),
        (LLAMACPP, {"kv_usage"}),
        (DialectName.SIMULATED, {"draft_tokens", "accepted_tokens"}),
    ],
)
def test_each_type_exports_its_own_figures(
    engine: SimulatedEngine, clock: MemoryClock, dialect: DialectName, absent: set[str]
) -> None:
    """Given an engine type, when its metrics are read, then only what it exports is there, its start among it."""
    made = started(engine, dialect=dialect)
    found = figures(ask(engine, clock, made))
    assert {name for name in EngineMetrics.__slots__ if getattr(found, name) is None} == absent
    assert found.process_start == engine.cells.find(made).started_at


def test_an_engine_without_metrics_is_unknown(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a version that exports nothing, then its metrics are Unknown and not zero."""
    engine.default = Script(metrics="none")
    made = started(engine)
    assert isinstance(ask(engine, clock, made).metrics, Unknown)


def test_a_wrong_key_is_refused(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given an engine with a key, when it is asked without one, then it fails for that reason."""
    made = started(engine, argv=("--api-key", "secret"))
    answer = ask(engine, clock, made)
    assert (answer.phase, "key" in answer.detail) == (ServePhase.FAILING, True)
