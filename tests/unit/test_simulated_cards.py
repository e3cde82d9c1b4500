"""The cards of a simulated rig: gauges, neighbours, the time line and what engines take, on a clock that the test moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.model.identity import Identity
from controller.model.plan import CreateRequest
from controller.model.profile import DialectName
from controller.model.reading import Known, Unknown
from controller.model.resolved import ContainerSpec
from controller.model.rig import Card, RigFacts
from controller.simulation.card_changes import CardChange, Foreign
from controller.simulation.card_memory import foreign_pid
from controller.simulation.cards import SimulatedGpus
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.script import Change, Script
from controller.simulation.hand import SimulatedHand
from controller.simulation.memory_world import MemoryClock, memory_cards
from controller.simulation.scripted import ScriptedProcesses

MIB = 2**20
CARDS = memory_cards(3)
FACTS = RigFacts(Known(CARDS), nvlink=((0, 1),), driver=Known("575.10"), origin="sim:rig.yml")
ROOM = 24576 - 300


class Rig:
    """Three cards, the first two linked, and a container engine."""

    def __init__(self, *changes: CardChange, facts: RigFacts = FACTS) -> None:
        self.clock = MemoryClock()
        self.engine = SimulatedEngine(self.clock, ScriptedProcesses(self.clock))
        self.engine.add_image("x:1")
        self.gpus = SimulatedGpus(facts, self.engine.cells, self.clock, changes)

    def start(self, script: Script, *cards: int, name: str = "chat", dialect: DialectName = DialectName.VLLM) -> str:
        """A started container on these cards."""
        self.engine.behave(name, script)
        number = len(self.engine.list())
        spec = ContainerSpec("x:1", (), port=8010 + number, container_port=8000, gpus=tuple(CARDS[i].uuid for i in cards))
        identity = Identity("rig", name, "0123456789abcdef", 1)
        container = self.engine.create(CreateRequest(identity, identity.container_name(), spec, dialect=dialect), {}, ())
        self.engine.start(container)
        return container

    def cards(self) -> tuple[Card, ...]:
        """All cards now, which must be readable."""
        cards = self.gpus.read().cards
        assert isinstance(cards, Known)
        return cards.value

    def holders(self, index: int = 0) -> list[tuple[str, int]]:
        """Names and MiB on one card, by pid."""
        processes = self.cards()[index].processes
        assert isinstance(processes, Known)
        return [(p.name, p.used_bytes.value // MIB) for p in processes.value if isinstance(p.used_bytes, Known)]

    def held(self, index: int = 0) -> int:
        """MiB in use on one card without the driver's own."""
        used = self.cards()[index].memory_used
        assert isinstance(used, Known)
        return used.value // MIB - 300


def test_an_idle_rig_tells_what_its_facts_say() -> None:
    """Given no engine, then cards are idle and healthy, with the driver, links and origin of the facts."""
    rig = Rig()
    facts = rig.gpus.read()

    assert (facts.driver, facts.cuda, facts.nvlink, facts.origin) == (
        Known("575.10"),
        Known("13.0"),
        ((0, 1),),
        "sim:rig.yml",
    )
    for told, card in zip(rig.cards(), CARDS, strict=True):
        assert (told.uuid, told.name, told.profile) == (card.uuid, card.name, card.profile)
        assert told.memory_total == card.memory_total
        assert (told.memory_used, told.processes, told.utilization) == (Known(300 * MIB), Known(()), Known(0.0))
        assert (told.pcie_generation, told.pcie_max_generation) == (Known(1), Known(4))
    assert rig.gpus.read() == facts


def test_ratings_of_the_facts_are_the_cards() -> None:
    """Given facts with a power limit and a narrow link, then the card has these until the time line says another limit."""
    card = replace(CARDS[0], power_limit_watts=Known(280.0), pcie_max_generation=Known(3), pcie_max_width=Known(8))
    rig = Rig(CardChange(10, card=0, power_limit_w=200), facts=RigFacts(Known((card,))))
    (told,) = rig.cards()
    assert (told.power_limit_watts, told.pcie_max_generation, told.pcie_width) == (Known(280.0), Known(3), Known(8))
    rig.clock.advance(10)
    assert rig.cards()[0].power_limit_watts == Known(200)


def test_facts_without_a_driver_get_one() -> None:
    """Given facts that name no driver, then the simulated driver names itself."""
    driver = Rig(facts=RigFacts(Known(CARDS))).gpus.read().driver
    assert isinstance(driver, Known)
    assert driver.value


def test_an_engine_on_two_cards_holds_each() -> None:
    """Given an engine over two cards, when it has loaded, then each holds its figure by the same pid and the third none."""
    rig = Rig()
    container = rig.start(Script(load_s=10, vram_mib=8000), 0, 1)

    rig.clock.advance(5)
    assert [rig.held(index) for index in range(3)] == [4000, 4000, 0]
    rig.clock.advance(60)
    assert [rig.held(index) for index in range(3)] == [8000, 8000, 0]
    pid = rig.engine.cells.find(container).seen.pid
    first, second, _ = rig.cards()
    assert isinstance(first.processes, Known)
    assert first.processes == second.processes
    assert [process.pid for process in first.processes.value] == [pid]
    assert first.foreign_bytes == 0


def test_a_stalled_load_holds_what_it_got_to() -> None:
    """Given a load that stalls at half, then its memory stays at half and its card idles."""
    rig = Rig()
    rig.start(Script(load_s=10, stall_s=5, vram_mib=8000, growth_mib_per_min=600), 0)
    rig.clock.advance(4)
    assert rig.cards()[0].utilization != Known(0.0)
    rig.clock.advance(600)

    assert rig.held() == 4000
    assert rig.cards()[0].utilization == Known(0.0)


def test_growth_begins_with_the_end_of_the_load() -> None:
    """Given 60 MiB a minute of growth, when two minutes have passed after the load, then 120 MiB more are held."""
    rig = Rig()
    rig.start(Script(load_s=10, vram_mib=8000, growth_mib_per_min=60), 0)
    rig.clock.advance(10)
    assert rig.held() == 8000
    rig.clock.advance(120)
    assert rig.held() == 8120


def test_growth_that_stops_keeps_what_has_grown() -> None:
    """Given growth that a change ends after two minutes, then the card keeps what it got by then."""
    rig = Rig()
    rig.start(Script(vram_mib=8000, growth_mib_per_min=60, changes=(Change(120, {"growth_mib_per_min": 0.0}),)), 0)
    rig.clock.advance(600)
    assert rig.held() == 8120


def test_growth_ends_where_the_card_does() -> None:
    """Given growth without end, then no card ever holds more than it has."""
    rig = Rig()
    rig.start(Script(vram_mib=8000, growth_mib_per_min=6000), 0)
    rig.clock.advance(3600)
    assert rig.held() == ROOM


def test_a_step_is_a_change_of_the_script() -> None:
    """Given a script that takes more after a minute, then the card shows the step."""
    rig = Rig()
    rig.start(Script(vram_mib=8000, changes=(Change(60, {"vram_mib": 9500}),)), 0)
    rig.clock.advance(59)
    assert rig.held() == 8000
    rig.clock.advance(1)
    assert rig.held() == 9500


def test_slow_release_is_three_steps_and_outlives_the_container() -> None:
    """Given 9 s of release, when the container is gone, then a third comes back every 3 s."""
    rig = Rig()
    container = rig.start(Script(vram_mib=9000, release_s=9), 0)
    SimulatedHand(rig.engine).remove(container)

    seen = []
    for _ in range(5):
        seen.append(rig.held())
        rig.clock.advance(2.5)

    assert seen == [9000, 9000, 6000, 3000, 0]


def test_the_release_of_a_default_share_is_slow_too() -> None:
    """Given an engine whose script names no figure, when it ends, then what it had comes back in steps."""
    rig = Rig()
    container = rig.start(Script(release_s=9), 0)
    assert rig.held() == 14745
    SimulatedHand(rig.engine).kill(container)
    rig.clock.advance(4)

    assert rig.held() == 14745 * 2 // 3


@pytest.mark.parametrize(
    ("dialect", "worker"),
    [
        (DialectName.VLLM, "VLLM::EngineCore"),
        (DialectName.LLAMACPP, "llama-server"),
        (DialectName.SGLANG, "sglang::scheduler"),
        (DialectName.SIMULATED, "engine-worker"),
    ],
)
def test_residue_is_a_worker_of_the_engine_type(dialect: DialectName, worker: str) -> None:
    """Given an engine that leaves memory behind, when it ends, then a worker that is nobody's container holds it for good."""
    rig = Rig()
    container = rig.start(Script(vram_mib=9000, release_s=3, residue_mib=2000), 0, dialect=dialect)
    name = rig.engine.cells.find(container).name
    SimulatedHand(rig.engine).kill(container)
    assert rig.holders() == [(name, 7000), (worker, 2000)]

    rig.clock.advance(3600)

    assert rig.holders() == [(worker, 2000)]


def test_a_hand_ends_what_is_left_on_a_card() -> None:
    """Given workers left on two cards, when somebody kills those of one, then this card is free and the other is not."""
    rig = Rig()
    hand = SimulatedHand(rig.engine)
    hand.kill(rig.start(Script(vram_mib=9000, residue_mib=2000), 0, 1))

    hand.clear_card(CARDS[0].uuid)

    assert [rig.held(index) for index in range(3)] == [0, 2000, 0]


def test_shares_count_what_is_taken() -> None:
    """Given a neighbour and an engine with a figure, then an engine without one gets no more than they leave."""
    rig = Rig()
    rig.gpus.foreign[CARDS[0].uuid] = 6000 * MIB
    rig.start(Script(load_s=100, vram_mib=10000), 0, name="one")
    rig.start(Script(), 0, name="two")

    assert [mib for _, mib in rig.holders()] == [0, ROOM - 16000, 6000][1:]
    rig.clock.advance(100)
    assert sorted(mib for _, mib in rig.holders()) == sorted([10000, ROOM - 16000, 6000])


def test_work_is_seen_in_every_gauge() -> None:
    """Given an engine with requests, when it has loaded, then its card is busy, warm, draws more and uses its whole link."""
    rig = Rig()
    idle = rig.cards()[0]
    container = rig.start(Script(load_s=10, requests=2, changes=(Change(60, {"hang": True}),)), 0)
    rig.clock.advance(10)
    busy, other, _ = rig.cards()

    def figures(card: Card) -> tuple[float, ...]:
        gauges = (card.utilization, card.power_watts, card.temperature_celsius, card.pcie_generation)
        return tuple(gauge.value for gauge in gauges if isinstance(gauge, Known))

    assert all(more > less for more, less in zip(figures(busy), figures(idle), strict=True))
    assert figures(busy)[1] < 350
    assert other.utilization == Known(0.0)
    rig.engine.cells.pause(rig.engine.cells.find(container))
    assert rig.cards()[0].utilization == Known(0.0)
    rig.engine.unpause(container)
    assert rig.cards()[0].utilization == busy.utilization
    rig.clock.advance(60)
    assert rig.cards()[0].utilization == Known(0.0), "it hangs"


def test_foreign_memory_of_the_facts_is_there_from_the_start() -> None:
    """Given facts with foreign memory, then a process holds it beside the one that the time line brings."""
    card = replace(CARDS[0], foreign_bytes=500 * MIB)
    rig = Rig(CardChange(30, card=0, foreign=Foreign(9000, "python3")), facts=RigFacts(Known((card,))))
    assert rig.holders() == [("foreign", 500)]

    rig.clock.advance(30)

    assert sorted(rig.holders()) == [("foreign", 500), ("python3", 9000)]
    assert rig.cards()[0].foreign_bytes == 500 * MIB, "a fact of the rig file, which decides what is valid, not of the moment"
    assert foreign_pid("python3") > 2**22, "no pid that a kernel gives"


def test_a_process_is_listed_once() -> None:
    """Given a process that the facts know and that takes more later, then the driver lists it once with all that it has."""
    card = replace(CARDS[0], foreign_bytes=500 * MIB)
    rig = Rig(CardChange(0, card=0, foreign=Foreign(1000)), facts=RigFacts(Known((card,))))
    assert rig.holders() == [("foreign", 1500)]


def test_a_newcomer_gets_what_is_left() -> None:
    """Given an engine that fills its card, when a process comes that wants more than is free, then it gets no more."""
    rig = Rig(CardChange(30, card=0, foreign=Foreign(9000, "python3")))
    rig.start(Script(vram_mib=20000), 0)
    rig.clock.advance(30)
    assert rig.held() == ROOM
    assert ("python3", ROOM - 20000) in rig.holders()


def test_the_time_line_comes_and_goes() -> None:
    """Given a card that is lost and comes back, and a driver that is away for a while, then each read tells its moment."""
    rig = Rig(
        CardChange(10, card=1, lost=True, xid=79),
        CardChange(20, unreadable="driver not loaded"),
        CardChange(30, unreadable=""),
        CardChange(40, card=1, lost=False),
        CardChange(50, card=2, power_limit_w=250),
        CardChange(60, card=2, power_limit_w=350),
    )
    lost, links, limits = [], [], []
    for _ in range(7):
        facts = rig.gpus.read()
        if isinstance(facts.cards, Unknown):
            lost.append(facts.cards.reason)
        else:
            lost.append("".join("-" if card.healthy == Known(False) else "+" for card in facts.cards.value))
            links.append(facts.nvlink)
            limits.append(facts.cards.value[2].power_limit_watts)
        rig.clock.advance(10)

    assert lost == ["+++", "+-+", "driver not loaded", "+-+", "+++", "+++", "+++"]
    assert links == [((0, 1),), (), (), ((0, 1),), ((0, 1),), ((0, 1),)]
    assert limits == [Known(350.0)] * 4 + [Known(250), Known(350)]
    assert [card.last_xid for card in rig.cards()] == [Known(None), Known(79), Known(None)]


def test_links_move_with_their_cards() -> None:
    """Given a driver that lists linked cards at other indices, then the pair is told at these, and engines stay on theirs."""
    rig = Rig(CardChange(10, order=(2, 1, 0)))
    rig.start(Script(vram_mib=8000), 0)
    rig.clock.advance(10)

    assert rig.gpus.read().nvlink == ((1, 2),)
    assert [card.uuid for card in rig.cards()] == [CARDS[2].uuid, CARDS[1].uuid, CARDS[0].uuid]
    assert [rig.held(index) for index in range(3)] == [0, 0, 8000]


def test_an_order_of_another_rig_changes_nothing() -> None:
    """Given a time line that was written for two cards, then three stay as they are."""
    rig = Rig(CardChange(0, order=(1, 0)), CardChange(0, card=7, lost=True))
    assert [card.uuid for card in rig.cards()] == [card.uuid for card in CARDS]


def test_hands_may_take_cards_and_the_driver_away() -> None:
    """Given somebody who pulls a card and unloads the driver, then the next reads tell it, and tell it no more once undone."""
    rig = Rig()
    rig.gpus.lost.add(CARDS[1].uuid)
    assert [card.healthy for card in rig.cards()] == [Known(True), Known(False), Known(True)]
    rig.gpus.fails = "driver not loaded"
    facts = rig.gpus.read()
    assert (facts.cards, facts.driver) == (Unknown("driver not loaded"), Unknown("driver not loaded"))
    rig.gpus.fails = ""
    rig.gpus.lost.clear()
    assert [card.healthy for card in rig.cards()] == [Known(True)] * 3
