"""Accidents of the surroundings: lost replies, a silent or absent engine, cards that cannot be read."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from controller.errors import EngineUnreachable, EnvironmentFault, PortTaken
from controller.model.status import State
from controller.settings import Bounds
from controller.simulation.engine.script import KILLED
from controller.simulation.faults import Fault
from tests.loop.rig import IMAGE, LOADS_5_S, MemoryRig, entry, estate

ONE = estate(entry("chat", 8010))
TWO = estate(entry("chat", 8010), entry("embed", 8011))
EMBED = estate(entry("embed", 8011))
_LOOK_S = 0.5


@pytest.mark.parametrize("takes_s", [0.0, 70.0], ids=["at-once", "after-the-bound"])
@pytest.mark.parametrize("call", ["create", "start", "stop", "remove"])
def test_a_lost_reply_is_observed_and_not_repeated(call: str, takes_s: float) -> None:
    """Given a call whose reply is lost, at once or after a long wait, when it is seen, then it is not asked for twice."""
    goes = call in ("stop", "remove")
    rig = MemoryRig(TWO if goes else EMBED)
    rig.run(30)
    word = {"stop": "kill", "remove": "destroy"}.get(call, call)
    before = rig.happened(word)
    rig.engine.faults.append(Fault(call, EngineUnreachable("the reply was lost"), "chat", after=True, takes_s=takes_s))
    rig.edit(EMBED if goes else TWO)
    assert rig.run(200).converged
    assert [name for name, _, result in rig.recorder.actions if result == "unknown"] == ["chat"]
    assert rig.happened(word) - before == 1
    assert len(rig.containers("chat")) == (0 if goes else 1)
    assert len(rig.running("embed")) == 1


@pytest.mark.parametrize("call", ["create", "start", "stop", "remove"])
def test_a_call_that_hangs_without_effect_is_made_again(call: str) -> None:
    """Given a call that hangs for a minute and does nothing, when it has failed, then it is tried again and all is well."""
    rig = MemoryRig(ONE)
    if call in ("stop", "remove"):
        rig.run(30)
        rig.edit(estate(entry("other", 8011), more="allow_prune: [chat]"))
    rig.engine.faults.append(Fault(call, EngineUnreachable("no answer within 60 s"), takes_s=60.0))
    began = rig.clock.mono
    assert not rig.run(59).converged
    assert rig.run(100).converged
    tries = [e.at.mono - began for e in rig.recorder.events if e.kind == "ActionStarted" and e.message in (call, "prune")]
    assert any(at >= 60 for at in tries)


@pytest.mark.parametrize("times", [1, 3, 10])
@pytest.mark.parametrize("moment", ["first boot", "edit", "after a hand"])
def test_a_stale_list_never_leads_to_a_second_container(moment: str, times: int) -> None:
    """Given an engine that lists what it listed before, when a plan is made on it, then no spec gets a second container."""
    rig = MemoryRig(ONE)
    if moment != "first boot":
        rig.run(30)
    if moment == "after a hand":
        rig.hand.kill(rig.running("chat")[0].id)
    if moment == "edit":
        rig.edit(estate(entry("chat", 8020)))
    for wait in range(8):
        rig.engine.faults.append(Fault("list", stale=True, times=times))
        for _ in range(10):
            rig.run(0.7 + wait / 10)
            hashes = [c.identity.spec_hash for c in rig.containers("chat") if c.identity]
            assert len(hashes) == len(set(hashes)), "two containers of one spec"
            assert len(rig.running("chat")) <= 1, "two containers of one instance run"
    rig.engine.faults.clear()
    assert rig.run(120).converged


def test_a_hanging_stop_holds_up_nobody_else() -> None:
    """Given two edits and one engine that is deaf to TERM, when both begin, then the other is ready long before."""
    more = "drain: {limit: 1s, idle_for: 1s, term: 120s}"
    rig = MemoryRig(estate(entry("deaf", 8010, more=more), entry("other", 8011, more=more)))
    rig.engine.behave("deaf", replace(LOADS_5_S, ignore_term=True))
    rig.run(30)
    (deaf,) = rig.running("deaf")
    rig.edit(estate(entry("deaf", 8020, more=more), entry("other", 8021, more=more)))
    rig.run(30)
    assert rig.instance("other").ready
    assert rig.running("other")[0].host_ports == (8021,)
    assert [c.id for c in rig.running("deaf")] == [deaf.id]
    assert rig.run(150).converged
    (ended,) = [c for c in rig.containers("deaf") if c.id == deaf.id]
    assert ended.exit_code == KILLED


def test_a_start_that_meets_a_taken_port_waits_and_never_counts_against_the_spec() -> None:
    """Given a port that is taken at the start, when it is free again, then the engine starts; it was never Stalled."""
    rig = MemoryRig(ONE)
    rig.engine.faults.append(Fault("start", PortTaken("port 8010 is already allocated"), times=3))
    rig.run(3)
    assert rig.instance("chat").state is not State.STALLED
    assert rig.run(60).converged


def test_an_engine_that_is_down_stops_nothing_and_is_waited_for() -> None:
    """Given ready engines, when Docker does not answer for a while, then no action is taken and it goes on after."""
    rig = MemoryRig(TWO)
    rig.run(30)
    rig.recorder.actions.clear()
    rig.engine.reachable = False
    status = rig.run(120)
    assert rig.recorder.actions == []
    assert next(c.status for c in status.conditions if c.type == "EngineReachable") == "False"
    rig.engine.reachable = True
    assert rig.run(60).converged


def test_cards_that_cannot_be_read_hold_new_boots_and_leave_running_engines() -> None:
    """Given unreadable cards, when one engine with a card runs and another is new, then the first stays, the second waits."""
    rig = MemoryRig(estate(entry("chat", 8010, gpus="[0]")))
    rig.run(30)
    rig.gpus.fails = "driver not loaded"
    rig.edit(estate(entry("chat", 8010, gpus="[0]"), entry("new", 8011, gpus="[1]"), entry("cpu", 8012)))
    rig.run(60)
    assert len(rig.running("chat")) == len(rig.running("cpu")) == 1
    assert rig.containers("new") == []
    assert "driver not loaded" in rig.instance("new").why
    rig.gpus.fails = ""
    assert rig.run(60).converged


def test_an_unknown_error_in_an_action_backs_off() -> None:
    """Given Docker refuses a start for reasons of its own, when it is retried, then the pauses grow."""
    rig = MemoryRig(ONE)
    rig.engine.faults.append(Fault("start", EnvironmentFault("the disk is full"), times=100))
    rig.run(100)
    times = [e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "start"]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(times) <= 9
    assert gaps == sorted(gaps)


@pytest.mark.parametrize("offset", [0.0, 4.0, 11.0])
@pytest.mark.parametrize("accident", ["kill", "remove", "port"])
def test_a_silent_event_stream_costs_at_most_one_relist(accident: str, offset: float) -> None:
    """Given a stream that tells nothing, when something happens behind its back, then it is put right one relist later."""
    heard = _seconds_until_right(accident, offset, silent=False)
    missed = _seconds_until_right(accident, offset, silent=True)
    assert heard <= missed <= heard + Bounds().relist + 2 * _LOOK_S


def _seconds_until_right(accident: str, offset: float, *, silent: bool) -> float:
    """How long it takes until the engine that met the accident runs."""
    rig = MemoryRig(ONE)
    rig.run(60 + offset)
    holder = ""
    if accident == "port":
        rig.hand.remove(rig.running("chat")[0].id)
        holder = rig.hand.foreign("web", IMAGE, port=8010)
        rig.run(90)
    rig.engine.silent_until = math.inf if silent else 0.0
    if accident == "port":
        rig.hand.kill(holder)
    else:
        getattr(rig.hand, accident)(rig.running("chat")[0].id)
    began = rig.clock.mono
    while not rig.running("chat"):
        rig.run(_LOOK_S)
        assert rig.clock.mono < began + 300
    return rig.clock.mono - began
