"""What a simulated rig's cards tell of its engines, whether these are scripts in memory or real processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from controller.model.reading import Known
from controller.model.rig import Card, RigFacts
from controller.simulation.cards import SimulatedGpus
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.script import Script
from controller.simulation.memory_world import memory_cards
from tests.contract.rigs import Rig, memory_rig, process_rig

MIB = 2**20
HERE, THERE = memory_cards(2)


@dataclass(frozen=True, slots=True)
class CardRig:
    """An engine and the cards under it."""

    rig: Rig
    gpus: SimulatedGpus

    def card(self) -> Card:
        """The first card now; nothing is ever on the second."""
        cards = self.gpus.read().cards
        assert isinstance(cards, Known)
        here, there = cards.value
        assert there.processes == Known(())
        return here

    def holders(self) -> dict[int, int]:
        """MiB on the first card by pid."""
        processes = self.card().processes
        assert isinstance(processes, Known)
        sizes = {process.pid: process.used_bytes for process in processes.value}
        return {pid: size.value // MIB for pid, size in sizes.items() if isinstance(size, Known)}

    def started(self, script: Script) -> str:
        """A started container on the first card."""
        return self.rig.started("one", script, gpus=(HERE.uuid,))


@pytest.fixture(params=["memory", "processes"])
def cards(request: pytest.FixtureRequest) -> Iterator[CardRig]:
    """A simulated rig of either layer with two cards."""
    if request.param == "memory":
        yield _with_cards(memory_rig())
    else:
        with process_rig() as rig:
            yield _with_cards(rig)


def _with_cards(rig: Rig) -> CardRig:
    assert isinstance(rig.engine, SimulatedEngine)
    return CardRig(rig, SimulatedGpus(RigFacts(Known((HERE, THERE))), rig.engine.cells, rig.engine.clock))


def test_memory_grows_with_the_load_and_is_gone_after_a_kill(cards: CardRig) -> None:
    """Given an engine that loads for 2 s, then its pid holds more and more of its card, and nothing once it is killed."""
    container = cards.started(Script(load_s=2.0, vram_mib=8000))
    pid = cards.rig.must_see(container).pid
    assert pid

    seen = [0]

    def loaded() -> bool:
        held = cards.holders()
        assert set(held) <= {pid}
        seen.append(held.get(pid, 0))
        return seen[-1] == 8000

    cards.rig.wait(loaded)
    assert seen == sorted(seen)
    assert any(0 < held < 8000 for held in seen)

    cards.rig.hand.kill(container)

    assert cards.holders() == {}


def test_memory_of_an_engine_that_ended_comes_back_in_steps(cards: CardRig) -> None:
    """Given an engine with 0.9 s of release, when it is stopped and removed, then its card is free in three steps."""
    container = cards.started(Script(vram_mib=6000, release_s=0.9))
    pid = cards.rig.must_see(container).pid
    cards.rig.engine.stop(container, 5.0)
    cards.rig.engine.remove(container)

    seen = []

    def free() -> bool:
        seen.append(cards.holders().get(pid, 0))
        return seen[-1] == 0

    cards.rig.wait(free)
    assert seen == sorted(seen, reverse=True)
    assert set(seen) <= {6000, 4000, 2000, 0}
    assert 4000 in seen or 2000 in seen


def test_residue_stays_with_a_process_that_is_nobodys(cards: CardRig) -> None:
    """Given an engine that leaves a worker behind, when it is gone, then the worker's pid and memory stay on the card."""
    container = cards.started(Script(vram_mib=6000, residue_mib=5000))
    pid = cards.rig.must_see(container).pid
    cards.rig.hand.remove(container)

    ((orphan, held),) = cards.holders().items()

    assert held == 5000
    assert orphan != pid


def test_engine_without_a_figure_takes_its_share(cards: CardRig) -> None:
    """Given two engines whose scripts name no memory on one card, then the second gets what the first has left of it."""
    container = cards.started(Script())
    first = cards.rig.must_see(container).pid
    assert cards.holders() == {first: 14745}
    second = cards.rig.must_see(cards.rig.started("two", Script(), gpus=(HERE.uuid,))).pid

    assert cards.holders() == {first: 14745, second: 24576 - 300 - 14745}
    cards.rig.hand.kill(container)
    assert cards.holders() == {second: 24576 - 300 - 14745}, "what it has it keeps, and takes no more"
