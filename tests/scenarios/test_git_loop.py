"""The same stories on an engine in memory, where every moment can be chosen (git-01, 03, 13, 20)."""

from __future__ import annotations

import pytest

from tests.loop.rig import IMAGE, MemoryRig, entry, estate

A, B = entry("a", 8001), entry("b", 8002)
ONE, TWO = estate(A), estate(A, B)


def starts(rig: MemoryRig) -> list[str]:
    """The actions that were begun, in order."""
    return [event.message for event in rig.recorder.events if event.kind == "ActionStarted"]


def test_git_01_an_edit_is_acted_on_in_the_pass_that_accepts_it() -> None:
    """Given a quiet rig, when an edit asks for a new container, then it is begun without waiting for the next relist."""
    rig = MemoryRig(ONE)
    rig.run(60)
    rig.edit(estate(entry("a", 8003)))
    rig.run(6, "file")
    events = [e for e in rig.recorder.events if e.kind in ("RevisionAccepted", "ActionStarted")]
    last = max(n for n, event in enumerate(events) if event.kind == "RevisionAccepted")
    assert events[last + 1].pass_id == events[last].pass_id


@pytest.mark.parametrize("cut", [ONE, estate(entry("a", 8009), B).rstrip("\n")], ids=["removed", "no end"])
def test_git_03_a_valid_moment_of_a_save_is_not_believed(cut: str) -> None:
    """Given two engines, when the file misses one of them or its last line break for 3 s, then nothing happens."""
    rig = MemoryRig(TWO)
    rig.run(60)
    before = starts(rig)
    rig.edit(cut)
    status = rig.run(3, "file")
    assert not status.converged
    assert starts(rig) == before
    assert next(c.status for c in status.conditions if c.type == "ConfigAccepted") == "Unknown"
    rig.edit(TWO)
    assert rig.run(10, "file").converged
    assert starts(rig) == before


def test_git_03_a_removal_that_stands_is_carried_out() -> None:
    """Given two engines, when the file misses one of them for good, then it is removed after a few seconds."""
    rig = MemoryRig(TWO)
    rig.run(60)
    rig.edit(ONE)
    rig.run(20, "file")
    assert rig.containers("b") == []
    assert len(rig.running("a")) == 1


def test_git_03_what_stands_when_steward_starts_is_believed_at_once() -> None:
    """Given a removal made while no controller ran, when one starts, then it does not wait."""
    rig = MemoryRig(TWO)
    rig.run(60)
    rig.source.text = ONE
    again = rig.reborn()
    again.run(1)
    assert "RevisionAccepted" in again.kinds()


def test_git_13_own_leftover_gives_the_name_back() -> None:
    """Given our stopped container under the next name, when an edit needs that name, then it is renamed, not removed."""
    rig = MemoryRig(ONE)
    rig.run(60)
    rig.edit(estate(entry("a", 8003)))
    probe = MemoryRig(rig.source.text)
    probe.run(60)
    wanted = probe.running("a")[0].name.removesuffix("-1") + "-2"
    (old,) = rig.running("a")
    rig.hand.stop(old.id)
    rig.hand.rename(old.id, wanted)
    assert rig.run(60, "file").converged
    assert {c.id: c.name for c in rig.containers("a")}[old.id] == old.name
    assert rig.running("a")[0].name == wanted


def test_git_13_foreign_holder_of_a_name_is_left() -> None:
    """Given a foreign container with our running container's name taken, when looked at, then it keeps it and is named."""
    rig = MemoryRig(ONE)
    rig.run(60)
    (ours,) = rig.running("a")
    rig.hand.rename(ours.id, "mine-now")
    foreign = rig.hand.foreign(ours.name, IMAGE)
    status = rig.run(60, "event")
    assert [s.waiting_for for s in status.plan.steps if s.action == "rename"] == [
        f"name {ours.name} is held by a container that is not ours ({foreign[:12]})"
    ]
    assert [c.id for c in rig.running("a")] == [ours.id]


def test_git_20_a_name_that_another_process_writes_to_is_never_in_force() -> None:
    """Given a rig name that is somebody else's, when the file takes it, then it is refused and the engines stay."""
    rig = MemoryRig(ONE)
    rig.loop.desire.refusal = lambda name: "another Steward (pid 7) writes to this rig" if name == "lab" else ""
    rig.run(60)
    before = starts(rig)
    rig.edit(ONE.replace("rig: {", "rig: {name: lab, "))
    status = rig.run(30, "file")
    assert "RevisionRefused" in rig.kinds()
    assert any("pid 7" in c.message for c in status.conditions if c.type == "ConfigAccepted")
    assert starts(rig) == before
    assert len(rig.running("a")) == 1
