"""Waivers end while a controller runs: the revision is judged again, and its engines go on."""

from __future__ import annotations

from controller.model.moment import iso
from controller.model.status import Truth
from controller.settings import Bounds
from controller.simulation.memory_world import EPOCH
from tests.loop.rig import MemoryRig

SMALL = "x-steward: {engine: simulated, parameters: {served_name: {}, max_model_len: {default: 4096, max: 8192}}}\n"
POLL_S = Bounds().poll


def long_one(until: float, port: int = 8010) -> str:
    """An estate whose one engine is above its template's maximum, waived until a moment in Unix seconds."""
    waiver = f"{{rule: C11, reason: tested by us, until: {iso(until)}}}"
    body = f"name: chat, compose: sim/small, port: {port}, gpus: [], set: {{max_model_len: 16384}}, waive: [{waiver}]"
    return f"estate:\n  - {{{body}}}\n"


def rig_with(text: str) -> MemoryRig:
    """A rig whose estate has the template `sim/small`."""
    rig = MemoryRig(text)
    rig.source.documents["composes/sim/small.yml"] = SMALL
    return rig


def is_accepted(rig: MemoryRig) -> Truth:
    """What the last status says of the newest revision."""
    assert rig.last is not None
    return next(c.status for c in rig.last.status.conditions if c.type == "ConfigAccepted")


def test_the_end_of_a_waiver_is_noticed_and_stops_no_engine() -> None:
    """Given an engine that is ready by a waiver, when that ends, then within a poll the estate is refused and it stays."""
    rig = rig_with(long_one(EPOCH + 100))
    assert rig.run(90).converged
    assert rig.instance("chat").waived == ("C11",)
    assert rig.instance("chat").warnings[0].startswith("C11: max_model_len 16384 is above the template's maximum 8192; waived")
    (engine,) = rig.running("chat")
    status = rig.run(10 + POLL_S)
    assert is_accepted(rig) is Truth.FALSE
    assert not status.converged
    assert [p.rule for p in status.problems if p.severity == "error"] == ["C11"]
    assert [c.id for c in rig.running("chat")] == [engine.id]
    assert (rig.instance("chat").waived, len(rig.instance("chat").warnings)) == ((), 1)
    assert rig.kinds().count("RevisionRefused") == 1


def test_an_engine_whose_waiver_ended_is_still_looked_after() -> None:
    """Given a revision that is refused since its waiver ended, when its engine is removed by hand, then it is made anew."""
    rig = rig_with(long_one(EPOCH + 60))
    rig.run(70)
    assert is_accepted(rig) is Truth.FALSE
    rig.hand.remove(rig.running("chat")[0].id)
    rig.run(60)
    assert len(rig.running("chat")) == 1


def test_a_later_time_makes_the_estate_valid_again() -> None:
    """Given a refused estate, when its waiver is given a later time, then it is accepted and no engine is replaced."""
    rig = rig_with(long_one(EPOCH + 60))
    rig.run(70)
    (engine,) = rig.running("chat")
    rig.edit(long_one(EPOCH + 10_000))
    assert rig.run(30, "file").converged
    assert is_accepted(rig) is Truth.TRUE
    assert [c.id for c in rig.running("chat")] == [engine.id]


def test_a_clock_that_ran_ahead_ends_no_waiver_for_good() -> None:
    """Given a clock that jumped behind a waiver's end, when it is put right, then the estate is valid again."""
    rig = rig_with(long_one(EPOCH + 1000))
    rig.run(60)
    rig.clock.jump(5000)
    rig.run(2 * POLL_S)
    assert is_accepted(rig) is Truth.FALSE
    rig.clock.jump(-5000)
    assert rig.run(2 * POLL_S).converged
    assert is_accepted(rig) is Truth.TRUE


def test_a_new_controller_keeps_what_was_accepted_before_the_waiver_ended() -> None:
    """Given an engine whose waiver ended while no controller ran, when one starts, then it refuses the estate and keeps it."""
    rig = rig_with(long_one(EPOCH + 100))
    rig.run(60)
    (engine,) = rig.running("chat")
    rig.clock.advance(100)
    again = rig.reborn()
    again.source.documents = rig.source.documents
    again.run(60)
    assert is_accepted(again) is Truth.FALSE
    assert [c.id for c in again.running("chat")] == [engine.id]
    assert again.instance("chat").ready
