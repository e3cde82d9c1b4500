"""The world around an engine in memory: its workers, its host and its cards."""

from __future__ import annotations

from controller.errors import EngineUnreachable
from controller.model.reading import Known, Unknown
from controller.model.rig import RigFacts
from controller.ports import Clock, ContainerEvents, ContainerLogs, Containers, EngineProbe, GpuProbe, Host, Images, Workers
from controller.simulation.cards import SimulatedGpus
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.hand import SimulatedHand
from controller.simulation.memory_probe import MemoryProbe
from controller.simulation.memory_world import MemoryClock, MemoryHost, MemoryWorkers, memory_cards
from tests.unit.simulating import started


def test_the_parts_fit_the_ports(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """A type error here would be one in every simulated rig."""
    containers: Containers = engine
    images: Images = engine
    logs: ContainerLogs = engine
    events: ContainerEvents = engine
    time: Clock = clock
    workers: Workers = MemoryWorkers(clock)
    host: Host = MemoryHost(engine)
    gpus: GpuProbe = SimulatedGpus(RigFacts(Known(memory_cards(2))), engine.cells, clock)
    probe: EngineProbe = MemoryProbe(engine)
    assert all((containers, images, logs, events, time, workers, host, gpus, probe))


def test_a_lane_is_busy_until_it_was_collected(clock: MemoryClock) -> None:
    """A second job is refused, other lanes are free, errors come back as values."""
    workers = MemoryWorkers(clock)

    def fail() -> object:
        raise EngineUnreachable("no")

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


def test_the_host_sees_published_ports_and_others(engine: SimulatedEngine) -> None:
    """A stopped container's port is free; a failed read is Unknown."""
    host = MemoryHost(engine)
    made = started(engine)
    SimulatedHand(engine).listen(9000, process="nginx")
    listeners = host.listeners()
    assert isinstance(listeners, Known)
    assert [(found.port, found.process) for found in listeners.value] == [(9000, "nginx"), (8010, "docker-proxy")]
    engine.stop(made, 5)
    host.listeners_fail = "permission denied"
    assert host.listeners() == Unknown("permission denied")
