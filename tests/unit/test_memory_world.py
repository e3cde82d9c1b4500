"""The world in memory behaves as its scripts say and as its clock moves."""

from __future__ import annotations

import pytest

from controller.errors import EngineUnreachable, GpuUnavailable, NameTaken, PortTaken, PullFailed, SpecFault
from controller.model.identity import Identity
from controller.model.observed import ContainerState, ServePhase
from controller.model.plan import CreateRequest
from controller.model.profile import DialectName
from controller.model.reading import Known, Unknown
from controller.model.resolved import ContainerSpec, Serving
from controller.ports import (
    Clock,
    ContainerEvents,
    ContainerLogs,
    Containers,
    EngineProbe,
    GpuProbe,
    Host,
    Images,
    ProbeTarget,
    Workers,
)
from controller.simulation.memory_engine import Fault, MemoryEngine
from controller.simulation.memory_hand import MemoryHand
from controller.simulation.memory_probe import MemoryProbe
from controller.simulation.memory_world import MemoryClock, MemoryGpus, MemoryHost, MemoryWorkers, memory_cards
from controller.simulation.script import Script

GIB = 2**30
CARDS = memory_cards(2)


@pytest.fixture
def clock() -> MemoryClock:
    """A clock that stands still."""
    return MemoryClock()


@pytest.fixture
def engine(clock: MemoryClock) -> MemoryEngine:
    """An engine with one image."""
    made = MemoryEngine(clock)
    made.add_image("x:1")
    return made


def started(engine: MemoryEngine, name: str = "chat", *, port: int = 8010, **spec: tuple[str, ...]) -> str:
    """A started container of an instance."""
    wanted = ContainerSpec(image="x:1", argv=(), port=port, container_port=8000, **spec)  # type: ignore[arg-type]
    identity = Identity("rig", name, "0123456789abcdef", 1)
    made = engine.create(CreateRequest(identity, identity.container_name(), wanted), {}, [])
    engine.start(made)
    return made


def target(container: str, *, completion: bool = True) -> ProbeTarget:
    """A probe of a container."""
    serving = Serving(DialectName.VLLM, 8010, served_names=("chat",))
    return ProbeTarget(container, serving, 3.0, 10.0, want_completion=completion)


def test_the_parts_fit_the_ports(engine: MemoryEngine, clock: MemoryClock) -> None:
    """A type error here would be one in every simulated rig."""
    containers: Containers = engine
    images: Images = engine
    logs: ContainerLogs = engine
    events: ContainerEvents = engine
    time: Clock = clock
    workers: Workers = MemoryWorkers()
    host: Host = MemoryHost(engine)
    gpus: GpuProbe = MemoryGpus(engine, CARDS)
    probe: EngineProbe = MemoryProbe(engine)
    assert all((containers, images, logs, events, time, workers, host, gpus, probe))


def test_a_lost_reply_leaves_the_effect(engine: MemoryEngine) -> None:
    """The fault comes after the effect: the caller knows nothing, the engine did it."""
    made = started(engine)
    engine.faults.append(Fault("stop", EngineUnreachable("reply lost"), after=True))
    with pytest.raises(EngineUnreachable):
        engine.stop(made, 5)
    assert engine.list()[0].state is ContainerState.EXITED


def test_a_fault_before_the_effect_leaves_nothing(engine: MemoryEngine) -> None:
    """It holds for as many calls as it says, and only for its subject."""
    engine.faults.append(Fault("pull", PullFailed("rate limited"), subject="y:", times=2))
    engine.add_image("y:1", in_registry=True)
    engine.add_image("z:1", in_registry=True)
    for _ in range(2):
        with pytest.raises(PullFailed, match="rate limited"):
            engine.pull("y:1", lambda _text: None)
    assert engine.inspect("y:1") is None
    assert engine.pull("z:1", lambda _text: None).tags == ("z:1",)
    assert engine.pull("y:1", lambda _text: None).tags == ("y:1",)


def test_an_engine_that_is_away_forgets_nothing(engine: MemoryEngine) -> None:
    """Its containers run on."""
    made = started(engine)
    engine.reachable = False
    with pytest.raises(EngineUnreachable):
        engine.list()
    engine.reachable = True
    assert engine.list()[0].id == made


def test_cards_need_a_driver(engine: MemoryEngine) -> None:
    """Without one the container is created and does not start."""
    engine.cells.gpu_driver = False
    with pytest.raises(GpuUnavailable):
        started(engine, gpus=(CARDS[0].uuid,))
    assert engine.list()[0].state is ContainerState.CREATED


def test_a_script_may_refuse_to_start(engine: MemoryEngine) -> None:
    """As a bad mount or user would."""
    engine.behave("chat", Script(refuses="unable to find user nosuch"))
    with pytest.raises(SpecFault, match="nosuch"):
        started(engine)
    assert engine.list()[0].error == "unable to find user nosuch"


def test_ports_clash_only_where_addresses_meet(engine: MemoryEngine) -> None:
    """Loopback and a LAN address are two places; 0.0.0.0 is everywhere."""
    hand = MemoryHand(engine)
    hand.foreign("web", "x:1", port=8010, bind="192.0.2.7")
    made = started(engine)
    engine.stop(made, 5)
    hand.listen(8010, address="0.0.0.0")
    with pytest.raises(PortTaken):
        engine.start(made)


def test_a_restart_of_the_engine_ends_all_and_blames_nobody(engine: MemoryEngine, clock: MemoryClock) -> None:
    """Every container is down, and there is no evidence of a hand."""
    made = started(engine)
    MemoryHand(engine).restart_engine()
    assert engine.list()[0].state is ContainerState.EXITED
    assert engine.hand_signal(made, clock.wall - 5, clock.wall + 5) is None


def test_hands_cannot_take_a_taken_name_either(engine: MemoryEngine) -> None:
    """Names are unique for everybody."""
    started(engine)
    with pytest.raises(NameTaken):
        MemoryHand(engine).foreign(engine.list()[0].name, "x:1")


def test_a_lane_is_busy_until_it_was_collected() -> None:
    """A second job is refused, other lanes are free, errors come back as values."""
    workers = MemoryWorkers()

    def fail() -> object:
        raise ValueError("no")

    assert workers.submit("a", "1", lambda: 7)
    assert not workers.submit("a", "2", lambda: 8)
    assert workers.submit("b", "3", fail)
    assert workers.busy("a")
    first, second = workers.collect()
    assert (first.key, first.value, first.error) == ("1", 7, None)
    assert (second.key, str(second.error)) == ("3", "no")
    assert not workers.busy("a")
    assert workers.close(1.0)
    assert not workers.submit("a", "4", lambda: 9)


def test_the_host_sees_published_ports_and_others(engine: MemoryEngine) -> None:
    """A stopped container's port is free; a failed read is Unknown."""
    host = MemoryHost(engine)
    made = started(engine)
    MemoryHand(engine).listen(9000, process="nginx")
    listeners = host.listeners()
    assert isinstance(listeners, Known)
    assert [(found.port, found.process) for found in listeners.value] == [(9000, "nginx"), (8010, "docker-proxy")]
    engine.stop(made, 5)
    host.listeners_fail = "permission denied"
    assert host.listeners() == Unknown("permission denied")


def test_cards_hold_what_the_scripts_take(engine: MemoryEngine) -> None:
    """Memory is used while the container runs, on its own cards; foreign memory and lost cards are told apart."""
    gpus = MemoryGpus(engine, CARDS, foreign={CARDS[1].uuid: 2 * GIB})
    engine.behave("chat", Script(vram_bytes=20 * GIB))
    made = started(engine, gpus=(CARDS[0].uuid,))

    def used() -> list[object]:
        cards = gpus.read().cards
        assert isinstance(cards, Known)
        return [card.memory_used for card in cards.value]

    idle = 300 * 2**20
    assert used() == [Known(20 * GIB + idle), Known(2 * GIB + idle)]
    engine.stop(made, 5)
    assert used()[0] == Known(idle)
    gpus.lost.add(CARDS[0].uuid)
    assert used()[0] == Unknown("GPU is lost")
    gpus.fails = "driver not loaded"
    assert gpus.read().cards == Unknown("driver not loaded")


def test_a_probe_meets_the_phases_of_the_script(engine: MemoryEngine, clock: MemoryClock) -> None:
    """Refused, loading, serving with a completion, silent while paused, refused after the end."""
    phases = ((1.0, ServePhase.LOADING), (5.0, ServePhase.SERVING))
    engine.behave("chat", Script(phases=phases, requests=((5.0, 2), (7.0, 0)), tokens_per_s=30.0))
    probe = MemoryProbe(engine)
    made = started(engine)
    met = []
    for seconds in (0.5, 1.0, 4.5):
        clock.advance(seconds)
        met.append(probe.probe(target(made), clock.now()).phase)
    assert met == [ServePhase.REFUSED, ServePhase.LOADING, ServePhase.SERVING]
    answer = probe.probe(target(made), clock.now())
    assert answer.served is True
    assert answer.completion is not None
    assert answer.completion.ok
    assert isinstance(answer.metrics, Known)
    assert (answer.metrics.value.running, answer.metrics.value.generation_tokens) == (2.0, 30.0)
    clock.advance(10)
    later = probe.probe(target(made, completion=False), clock.now())
    assert later.completion is None
    assert isinstance(later.metrics, Known)
    assert (later.metrics.value.running, later.metrics.value.generation_tokens) == (0.0, 60.0)
    MemoryHand(engine).pause(made)
    assert probe.probe(target(made), clock.now()).phase is ServePhase.SILENT
    MemoryHand(engine).crash(made)
    assert probe.probe(target(made), clock.now()).phase is ServePhase.REFUSED


def test_an_engine_may_serve_the_wrong_name_or_nothing(engine: MemoryEngine, clock: MemoryClock) -> None:
    """HTTP is fine, the model or its words are not."""
    engine.behave("chat", Script(phases=((0.0, ServePhase.SERVING),), served=False, completes=False))
    answer = MemoryProbe(engine).probe(target(started(engine)), clock.now())
    assert answer.served is False
    assert answer.completion is not None
    assert not answer.completion.ok
