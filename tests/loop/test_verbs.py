"""What people say to Steward: stop, start, down, and a mode that only looks."""

from __future__ import annotations

from controller.model.events import Verb
from tests.loop.rig import MemoryRig, entry, estate

ONE = estate(entry("chat", 8010))
TWO = estate(entry("chat", 8010), entry("embed", 8011))


def test_stop_and_start_by_verb_and_by_time() -> None:
    """Given a ready engine, when it is stopped for ten minutes, then it stays down and starts by itself after them."""
    rig = MemoryRig(ONE)
    rig.run(30)
    assert rig.tell(Verb.STOP, "chat", for_s=600.0, reason="cleaning").ok
    rig.run(300)
    assert rig.running("chat") == []
    assert "cleaning" in rig.instance("chat").why
    rig.run(400)
    assert rig.instance("chat").ready
    rig.tell(Verb.DOWN)
    rig.run(60)
    assert rig.running("chat") == []
    rig.tell(Verb.START, "chat")
    rig.run(60)
    assert rig.instance("chat").ready


def test_a_verb_with_an_unknown_name_changes_nothing() -> None:
    """Given a rig, when a stop names an instance that does not exist, then the reply has a hint and nothing stops."""
    rig = MemoryRig(ONE)
    rig.run(30)
    reply = rig.tell(Verb.STOP, "chta")
    assert not reply.ok
    assert "chat" in reply.message
    rig.run(30)
    assert len(rig.running("chat")) == 1


def test_observe_mode_plans_and_does_nothing() -> None:
    """Given mode observe, when time passes, then a plan stands and no action was taken."""
    rig = MemoryRig(estate(entry("chat", 8010), rig="{mode: observe}"))
    status = rig.run(60)
    assert [s.action for s in status.plan.steps] == ["create", "start", "wait-ready"]
    assert rig.recorder.actions == []


def test_start_without_names_lifts_every_stop() -> None:
    """Given a rig that is down, when everything is started, then every wanted engine is ready again."""
    rig = MemoryRig(TWO)
    rig.run(30)
    rig.tell(Verb.DOWN)
    rig.run(60)
    assert rig.running("chat") == rig.running("embed") == []
    assert rig.tell(Verb.START).ok
    assert rig.run(60).converged
