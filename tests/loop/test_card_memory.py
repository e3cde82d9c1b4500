"""Starts on cards whose memory is somebody else's, or has not come back yet."""

from __future__ import annotations

from controller.model.status import State
from controller.simulation.engine.script import Script
from tests.loop.rig import MemoryRig

IMAGE = "vllm/vllm-openai:v0.27.1"
FIRST = 4096
SECOND = 8192
GIB = 2**30


def text(context: int, *, card: int = 0) -> str:
    """One vLLM that asks for 0.92 of a card of 24 GiB."""
    entry = f"name: chat, compose: vllm/generic, port: 8010, gpus: [{card}], set: {{model_path: m, max_model_len: {context}}}"
    return f"rig: {{boot: {{stagger: 0s}}}}\nestate:\n  - {{{entry}, drain: {{idle_for: 1s}}}}\n"


def rig_of(script: Script) -> MemoryRig:
    """A rig whose engine holds 20 GiB of its card."""
    rig = MemoryRig(text(FIRST))
    rig.engine.add_image(IMAGE)
    rig.engine.behave("chat", script)
    return rig


def starts(rig: MemoryRig) -> list[float]:
    """When starts began, in seconds of the test's clock."""
    return [e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "start"]


def test_memory_of_a_neighbour_holds_the_start_and_is_named() -> None:
    """Given a program with 9 GiB of the card, when an engine that needs 22 GiB is new, then it waits and names that program."""
    rig = rig_of(Script(load_s=5.0, vram_mib=20480))
    uuid = rig.gpus.read().cards.value[0].uuid  # type: ignore[union-attr]
    rig.gpus.foreign[uuid] = 9000 * 2**20
    status = rig.run(120)
    assert starts(rig) == []
    assert rig.instance("chat").state is State.WAITING_FOR_VRAM
    (why,) = [s.waiting_for or "" for s in status.plan.steps if s.action == "start"]
    assert why.startswith("card 0 has 14.9 GiB free of the 22.1 GiB that are needed: pid ")
    assert "holds 8.8 GiB" in why
    assert "chat" not in {instance for instance, _ in rig.loop.recall.memory().failures}
    rig.gpus.foreign.clear()
    assert rig.run(60).converged


def test_slow_release_of_the_old_engine_is_waited_for() -> None:
    """Given an engine whose memory takes 20 s to come back, when it is replaced, then the new one starts after that."""
    rig = rig_of(Script(load_s=5.0, vram_mib=20480, release_s=20.0))
    assert rig.run(60).converged
    rig.edit(text(SECOND))
    assert rig.run(120).converged
    stopped = next(e.at.mono for e in rig.recorder.events if e.kind == "ActionDone" and e.message.startswith("stop"))
    assert 13 <= starts(rig)[-1] - stopped <= 24


def test_residue_holds_the_card_until_somebody_clears_it() -> None:
    """Given a worker that outlives its engine, when the engine is replaced, then the card waits and the pid is named."""
    rig = rig_of(Script(load_s=5.0, vram_mib=20480, residue_mib=16384))
    assert rig.run(60).converged
    rig.edit(text(SECOND))
    status = rig.run(300)
    assert not status.converged
    assert rig.instance("chat").state is State.WAITING_FOR_VRAM
    assert "holds 16.0 GiB" in rig.instance("chat").why
    rig.hand.clear_card(rig.gpus.read().cards.value[0].uuid)  # type: ignore[union-attr]
    assert rig.run(60).converged


def test_unreadable_memory_holds_nothing() -> None:
    """Given a card that is lost to the driver's memory reading, when an engine is new, then no wait for memory is made up."""
    rig = rig_of(Script(load_s=5.0, vram_mib=20480))
    uuid = rig.gpus.read().cards.value[0].uuid  # type: ignore[union-attr]
    rig.gpus.lost.add(uuid)
    status = rig.run(30)
    assert all(not step.waits_for_memory for step in status.plan.steps)
