"""What every GpuProbe must do: the NVML adapter on its stand-in library, and the cards of the simulation."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from controller.model.reading import Known, Unknown
from controller.model.rig import Card, RigFacts
from controller.ports import GpuProbe
from controller.simulation.card_changes import CardChange, Foreign
from controller.simulation.card_gauges import DEFAULT_LIMIT_W
from controller.simulation.card_memory import foreign_pid
from controller.simulation.cards import SimulatedGpus
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.memory_world import MemoryClock, memory_cards
from controller.simulation.scripted import ScriptedProcesses
from tests.conftest import require
from tests.nvml.shim import ShimGpus
from tests.nvml.state import MIB, ShimState, driver_not_loaded, rtx_3090

NEIGHBOUR = "python3"
NEIGHBOUR_PID = foreign_pid(NEIGHBOUR)
TOTAL = 24576 * MIB


@dataclass(frozen=True, slots=True)
class Scene:
    """How a rig of 24 GiB cards is at one moment. Cards are counted as they were at first, also in `order`.

    `held` is MiB of a neighbour, `limits` are power limits in watts where they are not the default, `xids` the faults so far.
    """

    count: int = 2
    held: Mapping[int, int] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()
    limits: Mapping[int, float] = field(default_factory=dict)
    xids: Mapping[int, int] = field(default_factory=dict)
    order: tuple[int, ...] | None = None
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
        gpus.process(NEIGHBOUR_PID, NEIGHBOUR)

    def show(self, scene: Scene) -> None:
        """Write the state file; a lost card answers every question with its loss."""
        order = scene.order or tuple(range(scene.count))
        cards = []
        for index in order:
            mib = scene.held.get(index, 0)
            limit = f"{scene.limits.get(index, DEFAULT_LIMIT_W) * 1000:.0f}"
            compute = f"{NEIGHBOUR_PID}:{mib * MIB}" if mib else ""
            cards.append(rtx_3090(index, used_mib=mib, compute=compute, limit=limit))
        faults = [f"fault.{order.index(index)} 15" for index in scene.lost]
        xids = [f"xid.{order.index(index)} {code}" for index, code in scene.xids.items()]
        state = ShimState(tuple(cards)).with_extra(*faults, *xids)
        self.probe.become(state if scene.readable else driver_not_loaded())


class SimulatedWorld:
    """The simulation's cards: a scene becomes their time line."""

    def __init__(self) -> None:
        clock = MemoryClock()
        cells = SimulatedEngine(clock, ScriptedProcesses(clock)).cells
        self.probe = SimulatedGpus(RigFacts(Known(())), cells, clock)

    def show(self, scene: Scene) -> None:
        """Let everything of the scene have happened by now."""
        self.probe.facts = RigFacts(Known(memory_cards(scene.count)))
        self.probe.changes = (
            *(CardChange(0.0, card=index, foreign=Foreign(mib, NEIGHBOUR)) for index, mib in scene.held.items()),
            *(CardChange(0.0, card=index, lost=True) for index in scene.lost),
            *(CardChange(0.0, card=index, power_limit_w=watts) for index, watts in scene.limits.items()),
            *(CardChange(0.0, card=index, xid=code) for index, code in scene.xids.items()),
            CardChange(0.0, order=scene.order, unreadable="" if scene.readable else "the driver is not loaded"),
        )


@contextmanager
def _shim_world(folder: Path) -> Iterator[GpuWorld]:
    require("nvml", shutil.which("gcc") is not None, "no C compiler (gcc) to build the stand-in for NVIDIA's library")
    with ShimGpus(folder, ShimState()) as gpus:
        yield ShimWorld(gpus)


@contextmanager
def _simulated_world(folder: Path) -> Iterator[GpuWorld]:
    yield SimulatedWorld()


MakeWorld = Callable[[Path], AbstractContextManager[GpuWorld]]


WORLDS = [pytest.param(_shim_world, marks=pytest.mark.nvml, id="nvml"), pytest.param(_simulated_world, id="simulated")]


@pytest.fixture(params=WORLDS)
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
    assert [(process.pid, process.name) for process in taken.processes.value] == [(NEIGHBOUR_PID, NEIGHBOUR)]
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


def test_lost_card_tells_only_who_it_is(world: GpuWorld) -> None:
    """Given a lost card, then no reading of it is made up."""
    world.show(Scene())
    cards_of(world)

    world.show(Scene(lost=frozenset({1})))
    _, lost = cards_of(world)

    known = {name for name in Card.__slots__ if isinstance(getattr(lost, name), Known)}
    assert known <= {"healthy", "last_xid"}


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


def test_cards_that_the_driver_lists_in_another_order_keep_who_they_are(world: GpuWorld) -> None:
    """Given indices that are swapped by a reload, then each UUID stands at its new index with its own readings."""
    world.show(Scene(held={1: 9000}, limits={1: 250}))
    first, second = cards_of(world)

    world.show(Scene(held={1: 9000}, limits={1: 250}, order=(1, 0)))
    moved = cards_of(world)

    assert [(card.index, card.uuid) for card in moved] == [(0, second.uuid), (1, first.uuid)]
    assert [held_bytes(card) for card in moved] == [9000 * MIB, 0]
    assert [card.power_limit_watts for card in moved] == [Known(250.0), Known(DEFAULT_LIMIT_W)]


def test_power_limit_that_falls_back_to_the_default_is_seen(world: GpuWorld) -> None:
    """Given a card with a limit of its own, when the driver forgets it, then the next read tells the default."""
    world.show(Scene(limits={0: 250}))
    assert [card.power_limit_watts for card in cards_of(world)] == [Known(250.0), Known(DEFAULT_LIMIT_W)]

    world.show(Scene())

    assert [card.power_limit_watts for card in cards_of(world)] == [Known(DEFAULT_LIMIT_W)] * 2


def test_memory_that_grows_and_comes_back_is_seen_at_each_read(world: GpuWorld) -> None:
    """Given a process that takes more and gives all back, then each read has the figure of its moment."""
    seen = []
    for mib in (0, 4000, 4500, 1500, 0):
        world.show(Scene(held={0: mib}))
        card, _ = cards_of(world)
        seen.append((held_bytes(card) // MIB, used_bytes(card) // MIB))

    idle = seen[0][1]
    assert seen == [(mib, mib + idle) for mib in (0, 4000, 4500, 1500, 0)]


def test_xid_is_known_of_its_card_alone(world: GpuWorld) -> None:
    """Given cards that had no fault, when one reports an Xid, then it tells the code and the other that there was none."""
    world.show(Scene())
    assert [card.last_xid for card in cards_of(world)] == [Known(None), Known(None)]

    world.show(Scene(xids={1: 79}))

    assert [card.last_xid for card in cards_of(world)] == [Known(None), Known(79)]


def test_lost_card_tells_the_xid_that_it_was_lost_with(world: GpuWorld) -> None:
    """Given a card that reports an Xid and is lost at once, then the code is known of the lost card."""
    world.show(Scene())
    cards_of(world)

    world.show(Scene(lost=frozenset({0}), xids={0: 79}))
    lost, _ = cards_of(world)

    assert (lost.healthy, lost.last_xid) == (Known(False), Known(79))


def test_gauges_have_their_units(world: GpuWorld) -> None:
    """Given an idle card, then watts, degrees, shares and lanes are in the ranges that they have on real cards."""
    world.show(Scene(count=1))
    (card,) = cards_of(world)

    def value(reading: object) -> float:
        assert isinstance(reading, Known), reading
        return float(reading.value)

    assert 0 < value(card.power_watts) < value(card.power_limit_watts)
    assert 20 < value(card.temperature_celsius) < 60
    assert 0 <= value(card.utilization) <= 1
    assert 1 <= value(card.pcie_generation) <= value(card.pcie_max_generation)
    assert 1 <= value(card.pcie_width) <= value(card.pcie_max_width)
    assert value(card.compute_capability) == 8.6
