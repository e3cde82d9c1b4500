"""Edits of the estate: what is replaced, in which order, and what an edit may not do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.errors import PullFailed
from controller.model.observed import ContainerState
from controller.model.problem import Problem, Severity
from controller.model.status import State
from controller.simulation.engine.script import Change
from controller.simulation.faults import Fault
from tests.loop.rig import LOADS_5_S, MemoryRig, entry, estate

ONE = estate(entry("chat", 8010))
TWO = estate(entry("chat", 8010), entry("embed", 8011))


def test_an_edit_replaces_one_engine_and_leaves_the_neighbour() -> None:
    """Given two ready engines, when one is edited, then it alone is replaced, and its old container is kept, stopped."""
    rig = MemoryRig(TWO)
    rig.run(30)
    (neighbour,) = rig.running("embed")
    (old,) = rig.running("chat")
    rig.edit(estate(entry("chat", 8020), entry("embed", 8011)))
    status = rig.run(60)
    assert status.converged
    assert [c.id for c in rig.running("embed")] == [neighbour.id]
    (new,) = rig.running("chat")
    assert new.id != old.id
    assert new.host_ports == (8020,)
    assert [c.state for c in rig.containers("chat")] == [ContainerState.EXITED, ContainerState.RUNNING]


def test_the_cause_names_the_field_that_was_edited() -> None:
    """Given a ready engine, when its port is edited, then the journal gives the port as the cause, old and new."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    causes = {event.cause for event in rig.recorder.events if event.kind == "ActionStarted"}
    assert "port: 8010 -> 8020" in causes


def test_going_back_starts_the_kept_container() -> None:
    """Given an edit that was carried out, when it is taken back, then the kept container is started, not made anew."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (first,) = rig.running("chat")
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    rig.edit(ONE)
    rig.run(60)
    assert [c.id for c in rig.running("chat")] == [first.id]


def test_the_new_container_exists_before_the_old_one_stops() -> None:
    """Given an edit, when it is carried out, then create comes before stop, and stop before start."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.recorder.actions.clear()
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    assert [action for _, action, _ in rig.recorder.actions] == ["create", "stop", "start"]


def test_an_orphan_is_stopped_and_pruned() -> None:
    """Given three engines, when one leaves the estate, then it is stopped and removed and the others stay."""
    rig = MemoryRig(estate(entry("a", 8001), entry("b", 8002), entry("c", 8003)))
    rig.run(60)
    kept = [rig.running(name)[0].id for name in ("a", "b")]
    rig.edit(estate(entry("a", 8001), entry("b", 8002)))
    assert rig.run(60).converged
    assert rig.containers("c") == []
    assert [rig.running(name)[0].id for name in ("a", "b")] == kept


@pytest.mark.parametrize("text", ["estate: []\n", estate(entry("other", 8050))], ids=["empty", "renamed"])
def test_a_mass_removal_is_refused_until_it_is_confirmed(text: str) -> None:
    """Given two running engines, when an edit removes both, then nothing stops and the refusal tells how to allow it."""
    rig = MemoryRig(TWO)
    rig.run(30)
    rig.edit(text)
    status = rig.run(60)
    assert not status.converged
    assert len(rig.running("chat")) == len(rig.running("embed")) == 1
    assert any("allow_prune: [chat, embed]" in p.hint for p in status.problems)
    rig.edit("allow_prune: [chat, embed]\n" + text)
    assert rig.run(60).converged
    assert rig.containers("chat") == rig.containers("embed") == []


@pytest.mark.parametrize(
    "text", ["", "estate:\n  - name: ch", "estate: [\n", "rig: {}\n"], ids=["zero", "half", "open", "no-key"]
)
def test_a_broken_estate_changes_nothing(text: str) -> None:
    """Given ready engines, when the file is empty or half written, then all stay and the problem is said once."""
    rig = MemoryRig(TWO)
    rig.run(30)
    ids = [rig.running(n)[0].id for n in ("chat", "embed")]
    rig.edit(text)
    status = rig.run(60)
    assert [rig.running(n)[0].id for n in ("chat", "embed")] == ids
    assert not status.converged
    assert rig.kinds().count("RevisionRefused") == 1
    rig.edit(TWO)
    assert rig.run(30).converged


def test_a_source_that_cannot_be_read_is_said_once_and_changes_nothing() -> None:
    """Given ready engines, when the folder vanishes, then the engines stay and SourceReady is False."""
    rig = MemoryRig(TWO)
    rig.run(30)
    rig.source.problems = (Problem(Severity.ERROR, "source", "desired does not exist"),)
    status = rig.run(60)
    assert len(rig.running("chat")) == 1
    assert rig.kinds().count("SourceUnreadable") == 1
    assert next(c.status for c in status.conditions if c.type == "SourceReady") == "False"


def test_a_card_passes_from_one_instance_to_another() -> None:
    """Given two engines that swap their cards, when the edit is applied, then both stop before either starts."""
    rig = MemoryRig(estate(entry("a", 8001, gpus="[0]"), entry("b", 8002, gpus="[1]")))
    rig.run(40)
    rig.recorder.actions.clear()
    rig.edit(estate(entry("a", 8001, gpus="[1]"), entry("b", 8002, gpus="[0]")))
    assert rig.run(60).converged
    order = [action for _, action, _ in rig.recorder.actions]
    assert max(n for n, a in enumerate(order) if a == "stop") < min(n for n, a in enumerate(order) if a == "start")


def test_stopped_in_the_file_keeps_the_container_and_starts_it_again() -> None:
    """Given a ready engine, when the file says stopped and later running, then the same container ends and begins again."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (ours,) = rig.running("chat")
    rig.edit(estate(entry("chat", 8010, more="state: stopped")))
    assert rig.run(40).converged
    assert rig.instance("chat").state is State.STOPPED
    rig.edit(ONE)
    assert rig.run(40).converged
    assert [c.id for c in rig.running("chat")] == [ours.id]


def test_drain_waits_for_requests_up_to_its_limit() -> None:
    """Given an engine with a request that never ends, when it is edited, then it is stopped when the limit has passed."""
    rig = MemoryRig(estate(entry("chat", 8010, more="drain: {limit: 20s, idle_for: 1s}")))
    rig.engine.behave("chat", replace(LOADS_5_S, changes=(Change(10.0, {"requests": 1}),)))
    rig.run(30)
    began = rig.clock.mono
    rig.edit(estate(entry("chat", 8020, more="drain: {limit: 20s, idle_for: 1s}")))
    rig.run(60)
    stop = next(e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "stop")
    assert 20 <= stop - began <= 30


def test_a_drain_that_waits_for_a_port_has_not_begun() -> None:
    """Given an edit to a port that a program holds for long, when it is freed, then the open request still gets its drain."""
    rig = MemoryRig(estate(entry("chat", 8010, more="drain: {limit: 30s, idle_for: 1s}")))
    rig.engine.behave("chat", replace(LOADS_5_S, changes=(Change(10.0, {"requests": 1}),)))
    rig.run(30)
    rig.hand.listen(8020, process="nginx")
    rig.edit(estate(entry("chat", 8020, more="drain: {limit: 30s, idle_for: 1s}")))
    rig.run(120)
    assert rig.instance("chat").state is State.READY
    rig.hand.release(8020)
    freed = rig.clock.mono
    rig.run(90)
    stop = next(e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "stop")
    assert stop - freed >= 30


def test_a_foreign_listener_keeps_the_old_engine_serving() -> None:
    """Given a program on the new port, when the port is edited, then the old engine serves and the plan names the program."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (old,) = rig.running("chat")
    rig.hand.listen(8020, process="nginx")
    rig.edit(estate(entry("chat", 8020)))
    status = rig.run(60)
    assert [c.id for c in rig.running("chat")] == [old.id]
    assert any("nginx" in (s.waiting_for or "") and "8020" in (s.waiting_for or "") for s in status.plan.steps)
    assert "chat" not in {k[0] for k in rig.loop.recall.memory().failures}
    rig.hand.release(8020)
    assert rig.run(60).converged
    assert rig.running("chat")[0].id != old.id


def test_a_failed_pull_keeps_the_old_engine() -> None:
    """Given an image that cannot be pulled, when an edit wants it, then the old engine serves and the pull is tried again."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (old,) = rig.running("chat")
    rig.engine.faults.append(Fault("pull", PullFailed("429 too many requests"), times=3))
    rig.engine.add_image("registry.test/new:1", in_registry=True)
    rig.edit(estate(entry("chat", 8010, more="image: 'registry.test/new:1'")))
    rig.run(4)
    assert [c.id for c in rig.running("chat")] == [old.id]
    assert rig.instance("chat").ready
    rig.run(90)
    assert rig.instance("chat").ready
    assert rig.running("chat")[0].id != old.id
