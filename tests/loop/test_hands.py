"""What people do behind Steward's back: it is put right, and what is not ours is left alone."""

from __future__ import annotations

import pytest

from controller.model.events import Verb
from controller.model.observed import ContainerState
from tests.loop.rig import IMAGE, MemoryRig, entry, estate

ONE = estate(entry("chat", 8010))
TWO = estate(entry("chat", 8010), entry("embed", 8011))


@pytest.mark.parametrize("hand", ["stop", "kill", "pause", "rename", "remove", "policy"])
def test_what_a_hand_did_is_put_right(hand: str) -> None:
    """Given a ready engine, when somebody changes its container by hand, then after a grace all is as before."""
    rig = MemoryRig(TWO)
    rig.run(30)
    (ours,), (neighbour,) = rig.running("chat"), rig.running("embed")
    change = {
        "stop": lambda: rig.hand.stop(ours.id),
        "kill": lambda: rig.hand.kill(ours.id),
        "pause": lambda: rig.hand.pause(ours.id),
        "rename": lambda: rig.hand.rename(ours.id, "mine-now"),
        "remove": lambda: rig.hand.remove(ours.id),
        "policy": lambda: rig.hand.restart_policy(ours.id, "always"),
    }
    change[hand]()
    status = rig.run(62)
    assert status.converged
    (after,) = rig.running("chat")
    assert after.name.startswith("chat-")
    assert after.state is ContainerState.RUNNING
    assert after.restart_policy == "no"
    assert (after.id == ours.id) == (hand != "remove")
    assert rig.running("embed")[0].id == neighbour.id


def test_two_hands_of_grace() -> None:
    """Given an engine stopped by hand, when four seconds have passed, then it is still left; after ten it runs."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.hand.stop(rig.running("chat")[0].id)
    rig.run(4)
    assert rig.running("chat") == []
    rig.run(6)
    assert len(rig.running("chat")) == 1


def test_a_foreign_container_with_our_name_is_named_and_left() -> None:
    """Given a foreign container with the wanted name, when we would create ours, then nothing is touched and it is named."""
    rig = MemoryRig(ONE)
    rig.run(30)
    name = rig.running("chat")[0].name
    fresh = MemoryRig(ONE)
    foreign = fresh.hand.foreign(name, IMAGE)
    status = fresh.run(60)
    assert [s.waiting_for for s in status.plan.steps if s.action == "create"] == [
        f"name {name} is held by a container that is not ours ({foreign[:12]})"
    ]
    assert [c.id for c in fresh.engine.list()] == [foreign]


def test_a_stop_of_an_earlier_process_is_no_hand() -> None:
    """Given an engine stopped by verb, when another controller lifts the stop, then it starts at once and not as drift."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.tell(Verb.STOP, "chat")
    rig.run(30)
    again = rig.reborn()
    again.step()
    again.tell(Verb.START, "chat")
    again.run(2)
    starts = [e for e in again.recorder.events if e.kind == "ActionStarted" and e.message == "start"]
    assert [e.cause for e in starts] == ["container: exited with code 0 -> running"]
