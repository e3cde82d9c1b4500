"""Boots: how long they may take, how many at once, and what becomes of those that fail."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from controller.model.events import Verb
from controller.model.observed import ServePhase
from controller.model.plan import Action
from controller.model.status import State
from controller.simulation.engine.script import Line, Script
from tests.loop.rig import LOADS_5_S, MemoryRig, entry, estate

ONE = estate(entry("chat", 8010))
TWO = estate(entry("chat", 8010), entry("embed", 8011))


def test_first_boot_reaches_ready_and_is_quiet_then() -> None:
    """Given an empty engine, when the estate names two engines, then both get ready and nothing more is done."""
    rig = MemoryRig(TWO)
    status = rig.run(30)
    assert status.converged
    assert [(i.name, i.ready) for i in status.instances] == [("chat", True), ("embed", True)]
    before = list(rig.recorder.actions)
    rig.run(120)
    assert rig.recorder.actions == before


VLLM = (
    "rig: {boot: {stagger: 0s}}\nestate: [{compose: vllm/generic, name: chat, port: 8010, gpus: [0], set: {model_path: m}}]\n"
)
LLAMACPP = (
    "rig: {boot: {stagger: 0s}}\n"
    "estate: [{compose: llamacpp/generic, name: chat, port: 8010, gpus: [0], set: {model_path: m, model_file: m.gguf}}]\n"
)


def real_engine(text: str) -> MemoryRig:
    """A rig whose engine has the manners and the image of a real type."""
    rig = MemoryRig(text)
    rig.step()
    assert rig.last is not None
    rig.engine.add_image(next(step.target for step in rig.last.status.plan.steps if step.action is Action.PULL))
    return rig


@pytest.mark.parametrize(
    ("text", "load_s", "phase"),
    [(VLLM, 720.0, ServePhase.REFUSED), (LLAMACPP, 400.0, ServePhase.LOADING)],
    ids=["vllm", "llamacpp"],
)
def test_a_slow_loader_is_not_killed(text: str, load_s: float, phase: ServePhase) -> None:
    """Given an engine that loads for minutes in the manner of its type, when its log moves, then it is waited for."""
    rig = real_engine(text)
    rig.engine.behave("chat", Script(load_s=load_s))
    rig.run(load_s - 20)
    (container,) = rig.running("chat")
    assert rig.loop.prober.latest[container.id].phase is phase
    rig.run(60)
    assert rig.instance("chat").ready
    assert [c.id for c in rig.running("chat")] == [container.id]
    assert not rig.loop.recall.memory().failures


@pytest.mark.parametrize(("text", "last_line_s"), [(VLLM, 45.0), (LLAMACPP, 90.0)], ids=["vllm", "llamacpp"])
def test_a_loader_that_says_nothing_for_long_has_stalled(text: str, last_line_s: float) -> None:
    """Given a load of 15 minutes whose log stops early on, when `boot.stall` has passed, then it is ended, and not before."""
    rig = real_engine(text)
    rig.engine.behave("chat", Script(load_s=900.0, stall_s=last_line_s + 1))
    rig.run(last_line_s + 290)
    assert len(rig.running("chat")) == 1
    rig.run(30)
    assert rig.running("chat") == []
    assert rig.instance("chat").state is State.STALLED
    assert "BootStalled" in rig.instance("chat").why


def test_a_loader_that_moves_for_ever_is_ended_at_the_cap() -> None:
    """Given a log that moves and never comes to an end, when `boot.cap` has passed, then the boot is ended, and not before."""
    rig = MemoryRig(estate(entry("chat", 8010, more="boot: {stall: 2m, cap: 10m}")))
    shards = tuple(Line(f"shard {n}", at_s=n * 60.0) for n in range(1000))
    rig.engine.behave("chat", Script(load_s=60_000.0, log=shards))
    rig.run(590)
    assert len(rig.running("chat")) == 1
    rig.run(30)
    assert rig.running("chat") == []
    assert "BootTimeout" in rig.instance("chat").why


def test_a_slow_loader_and_a_stalled_one_side_by_side() -> None:
    """Given a boot of 40 minutes that moves and one that stands still, when time passes, then only the second fails."""
    rig = MemoryRig(TWO)
    shards = tuple(Line(f"shard {n} of 100", at_s=n * 24.0) for n in range(100))
    rig.engine.behave("chat", Script(load_s=2400.0, load_phase="refused", log=shards))
    rig.engine.behave("embed", Script(load_s=2400.0, load_phase="refused", log=(Line("loading weights"),)))
    rig.run(2460)
    assert rig.instance("chat").ready
    assert rig.instance("embed").state is State.STALLED
    assert "BootStalled" in rig.instance("embed").why
    assert rig.running("embed") == []
    assert len(rig.containers("embed")) == 1


def test_a_failed_boot_is_not_repeated_until_asked_or_edited() -> None:
    """Given a boot that ends by itself, when time passes, then it is tried once; `start` tries again; an edit does, too."""
    rig = MemoryRig(ONE)
    rig.engine.behave("chat", replace(LOADS_5_S, exits_s=3.0, log=(Line("error: invalid argument: --wrong"),)))
    rig.run(600)
    starts = [a for a in rig.recorder.actions if a[1] == "start"]
    assert len(starts) == 1
    assert rig.instance("chat").state is State.STALLED
    assert "--wrong" in rig.instance("chat").why
    assert rig.tell(Verb.START, "chat").ok
    rig.run(60)
    assert len([a for a in rig.recorder.actions if a[1] == "start"]) == 2
    rig.engine.behave("chat", LOADS_5_S)
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    assert rig.instance("chat").ready


def test_a_failed_boot_after_an_edit_keeps_the_last_good_container() -> None:
    """Given a good spec, a failed one and a good third one, when it is ready, then the first one is still kept."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (good,) = rig.containers("chat")
    rig.engine.behave("chat", replace(LOADS_5_S, exits_s=1.0))
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    rig.engine.behave("chat", LOADS_5_S)
    rig.edit(estate(entry("chat", 8030)))
    rig.run(60)
    assert rig.instance("chat").ready
    assert good.id in [c.id for c in rig.containers("chat")]
    assert len(rig.containers("chat")) == 2


def test_an_engine_that_dies_after_ready_is_started_again_with_growing_pauses() -> None:
    """Given an engine that ends 20 s after each start, when time passes, then starts come 10, 20, 40 s after the ends."""
    rig = MemoryRig(ONE)
    rig.engine.behave("chat", replace(LOADS_5_S, exits_s=20.0))
    rig.run(300)
    times = [e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "start"]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert [round(gap - 20) // 10 * 10 for gap in gaps[:3]] == [10, 20, 40]


def test_at_most_so_many_engines_boot_at_once() -> None:
    """Given five new engines and two boot slots, when they boot, then never more than two load at the same time."""
    rig = MemoryRig(estate(*(entry(f"e{n}", 8000 + n) for n in range(5))))
    most = 0
    for _ in range(120):
        rig.run(1)
        loading = [c for c in rig.engine.list() if c.running and c.id not in rig.loop.recall.memory().ready_marks]
        most = max(most, len(loading))
    assert most == 2
    assert all(rig.instance(f"e{n}").ready for n in range(5))


def test_the_stagger_separates_boots() -> None:
    """Given a stagger of 15 s, when two engines are new, then the second starts 15 s after the first."""
    rig = MemoryRig(estate(entry("a", 8001), entry("b", 8002), rig="{boot: {stagger: 15s}}"))
    rig.run(60)
    times = [e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "start"]
    assert len(times) == 2
    assert 15 <= times[1] - times[0] <= 20


def test_depends_on_waits_for_ready() -> None:
    """Given b depends on a, when both are new, then b starts only after a is ready."""
    rig = MemoryRig(estate(entry("b", 8002, more="depends_on: [a]"), entry("a", 8001)))
    rig.run(60)
    kinds = [(e.instance, e.kind, e.message) for e in rig.recorder.events]
    ready_a = next(n for n, k in enumerate(kinds) if k[:2] == ("a", "InstanceReady"))
    start_b = next(n for n, k in enumerate(kinds) if k == ("b", "ActionStarted", "start"))
    assert ready_a < start_b
