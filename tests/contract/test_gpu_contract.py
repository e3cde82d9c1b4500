"""What every GpuProbe must do: the NVML adapter on its stand-in library, and the cards of the simulation in memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from controller.model.reading import Known, Unknown
from controller.model.rig import Card
from controller.ports import GpuProbe
from controller.simulation.memory_engine import MemoryEngine
from controller.simulation.memory_world import MemoryClock, MemoryGpus, memory_cards
from tests.conftest import require
from tests.nvml.shim import ShimGpus
from tests.nvml.state import MIB, ShimState, driver_not_loaded, rtx_3090

NEIGHBOUR_PID = 2000
TOTAL = 24576 * MIB


@dataclass(frozen=True, slots=True)
class Scene:
    """How a rig of 24 GiB cards is at one moment: MiB that a neighbour holds by index, and the indices of lost cards."""

    count: int = 2
    held: Mapping[int, int] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()
    readable: bool = True


class GpuWorld(Protocol):
    """Cards that the test arranges, and the probe that has to see them."""

    @property
    def probe(self) -> GpuProbe:
        """The probe under test."""
        ...

    def show(self, scene: Scene) -> None:
        """Let the world be like this from now on."""
        ...


class ShimWorld:
    """The real adapter: a scene becomes the state file of the stand-in library."""

    def __init__(self, gpus: ShimGpus) -> None:
        self.probe = gpus

    def show(self, scene: Scene) -> None:
        """Write the state file; a lost card answers every question with its loss."""
        held = {index: scene.held.get(index, 0) for index in range(scene.count)}
        cards = tuple(
            rtx_3090(index, used_mib=mib, compute=f"{NEIGHBOUR_PID}:{mib * MIB}" if mib else "") for index, mib in held.items()
        )
        state = ShimState(cards).with_extra(*(f"fault.{index} 15" for index in scene.lost))
        self.probe.become(state if scene.readable else driver_not_loaded())


class MemoryWorld:
    """The simulation's cards."""

    def __init__(self) -> None:
        self.probe = MemoryGpus(MemoryEngine(MemoryClock()), ())

    def show(self, scene: Scene) -> None:
        """Set the cards' fields."""
        cards = memory_cards(scene.count)
        self.probe.cards = cards
        self.probe.foreign = {cards[index].uuid: mib * MIB for index, mib in scene.held.items()}
        self.probe.lost = {cards[index].uuid for index in scene.lost}
        self.probe.fails = "" if scene.readable else "the driver is not loaded"


@contextmanager
def _shim_world(folder: Path) -> Iterator[GpuWorld]:
    require("nvml", shutil.which("gcc") is not None, "no C compiler (gcc) to build the stand-in for NVIDIA's library")
    with ShimGpus(folder, ShimState()) as gpus:
        yield ShimWorld(gpus)


@contextmanager
def _memory_world(folder: Path) -> Iterator[GpuWorld]:
    yield MemoryWorld()


MakeWorld = Callable[[Path], AbstractContextManager[GpuWorld]]


@pytest.fixture(params=[pytest.param(_shim_world, marks=pytest.mark.nvml, id="nvml"), pytest.param(_memory_world, id="memory")])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GpuWorld]:
    """Each world in turn."""
    make: MakeWorld = request.param
    with make(tmp_path) as made:
        yield made


def cards_of(world: GpuWorld) -> tuple[Card, ...]:
    """The cards that the probe sees, which must be readable."""
    cards = world.probe.read().cards
    assert isinstance(cards, Known), cards
    return cards.value


def held_bytes(card: Card) -> int:
    """The memory of a card that its processes account for."""
    assert isinstance(card.processes, Known), card.processes
    return sum(process.used_bytes.value for process in card.processes.value if isinstance(process.used_bytes, Known))


def used_bytes(card: Card) -> int:
    """The memory of a card in use, which must be readable."""
    assert isinstance(card.memory_used, Known), card.memory_used
    return card.memory_used.value


def test_cards_come_in_index_order_and_are_told_apart(world: GpuWorld) -> None:
    """Given three cards, then they come by index with different UUIDs, the same name and their whole memory."""
    world.show(Scene(count=3))

    cards = cards_of(world)

    assert [card.index for card in cards] == [0, 1, 2]
    assert len({card.uuid for card in cards}) == 3
    assert {card.uuid[:4] for card in cards} == {"GPU-"}
    assert {card.name for card in cards} == {"NVIDIA GeForce RTX 3090"}
    assert {card.memory_total for card in cards} == {Known(TOTAL)}
    assert {card.healthy for card in cards} == {Known(True)}


def test_two_reads_of_an_unchanged_rig_agree(world: GpuWorld) -> None:
    """Given nothing that changes, then a second read equals the first."""
    world.show(Scene(held={0: 700}))

    assert world.probe.read() == world.probe.read()


def test_memory_that_a_neighbour_takes_is_seen_with_its_process(world: GpuWorld) -> None:
    """Given a neighbour that comes after the first read, then the next read tells its process and its card has less room."""
    world.show(Scene())
    before = cards_of(world)
    assert [held_bytes(card) for card in before] == [0, 0]

    world.show(Scene(held={1: 9000}))
    idle, taken = cards_of(world)

    assert idle == before[0]
    assert isinstance(taken.processes, Known)
    assert [process.pid for process in taken.processes.value] == [NEIGHBOUR_PID]
    assert held_bytes(taken) == 9000 * MIB
    assert used_bytes(taken) - used_bytes(before[1]) == 9000 * MIB


def test_idle_card_is_not_wholly_free(world: GpuWorld) -> None:
    """Given an idle card, then what the driver keeps for itself counts as used, so that nobody plans with it."""
    world.show(Scene(count=1))

    (card,) = cards_of(world)

    assert 0 < used_bytes(card) < 1024 * MIB


def test_lost_card_stays_with_its_uuid(world: GpuWorld) -> None:
    """Given a card that is lost after it was seen, then it is listed as unhealthy, its memory Unknown, the other untouched."""
    world.show(Scene())
    before = cards_of(world)

    world.show(Scene(lost=frozenset({1})))
    healthy, lost = cards_of(world)

    assert healthy == before[0]
    assert (lost.index, lost.uuid, lost.healthy) == (1, before[1].uuid, Known(False))
    assert isinstance(lost.memory_used, Unknown)
    assert isinstance(lost.processes, Unknown)
    assert lost.memory_used.reason


def test_card_that_recovers_is_as_before(world: GpuWorld) -> None:
    """Given a lost card that is reset, then it reads as it did."""
    world.show(Scene())
    before = cards_of(world)
    world.show(Scene(lost=frozenset({0})))
    cards_of(world)

    world.show(Scene())

    assert cards_of(world) == before


def test_unreadable_driver_is_unknown_and_passes(world: GpuWorld) -> None:
    """Given a driver that cannot be asked, then the cards are Unknown with a reason, and come back when it can."""
    world.show(Scene())
    before = cards_of(world)
    world.show(Scene(readable=False))
    unreadable = world.probe.read().cards
    assert isinstance(unreadable, Unknown)
    assert unreadable.reason

    world.show(Scene())

    assert cards_of(world) == before


def test_rig_without_cards_is_known_to_be_empty(world: GpuWorld) -> None:
    """Given a driver that lists no card, then the list is Known and empty: that is a fact, not a failure."""
    world.show(Scene(count=0))

    assert cards_of(world) == ()
