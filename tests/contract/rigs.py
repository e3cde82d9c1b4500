"""The engines that one contract suite runs on, behind the same few words: in memory, of real processes, and Docker."""

from __future__ import annotations

import shlex
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from testcontainers.core.container import DockerContainer

from controller.adapters.kernel_clock import KernelClock
from controller.model.identity import Identity
from controller.model.observed import Container
from controller.model.plan import CreateRequest
from controller.model.profile import DialectName
from controller.model.resolved import ContainerSpec
from controller.ports import ContainerEvents, ContainerLogs, Containers, Images
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.script import TERMINATED, Script
from controller.simulation.engine_processes import EngineProcesses
from controller.simulation.hand import SimulatedHand
from controller.simulation.memory_world import MemoryClock
from controller.simulation.scripted import ScriptedProcesses
from tests.contract.http_servers import free_port
from tests.docker_fixtures import DockerRig, eventually

IMAGE = "steward-test/python:3.11"
QUIET = Script(log=(), term_code=TERMINATED)
"""Runs until it is stopped and says nothing."""


class Engine(Containers, Images, ContainerLogs, ContainerEvents, Protocol):
    """All four ports of one engine."""


class Hand(Protocol):
    """What somebody else does to the engine."""

    def kill(self, container: str) -> None: ...
    def stop(self, container: str) -> None: ...
    def pause(self, container: str) -> None: ...
    def rename(self, container: str, name: str) -> None: ...
    def remove(self, container: str) -> None: ...
    def restart_policy(self, container: str, policy: str) -> None: ...
    def foreign(self, name: str, image: str, *, port: int | None = None) -> str: ...
    def listen(self, port: int) -> None: ...
    def release(self, port: int) -> None: ...


@dataclass(slots=True)
class Rig:
    """One engine under test. `behave` lets the next start of an instance follow a script and returns the argv for it."""

    name: str
    kind: str
    engine: Engine
    hand: Hand
    image: str
    now: Callable[[], float]
    behave: Callable[[str, Script], tuple[str, ...]]
    wait: Callable[[Callable[[], Any]], Any]
    unreachable: Callable[[], Engine]

    def request(
        self, instance: str = "one", script: Script = QUIET, *, dialect: DialectName = DialectName.SIMULATED, **spec: Any
    ) -> CreateRequest:
        """A create request for a container that does as the script says."""
        wanted = ContainerSpec(
            **{"image": self.image, "argv": self.behave(instance, script), "port": free_port(), "container_port": 8000, **spec}
        )
        identity = Identity(self.name, instance, "0123456789abcdef", 1, revision="r1", image_id="sha256:pin")
        return CreateRequest(identity, identity.container_name(), wanted, dialect=dialect)

    def create(self, instance: str = "one", script: Script = QUIET, **more: Any) -> str:
        """A created container of ours; its id."""
        request = self.request(instance, script, **more)
        return self.engine.create(request, {}, [str(word) for word in request.spec.argv])

    def started(self, instance: str = "one", script: Script = QUIET, **more: Any) -> str:
        """A started container of ours; its id."""
        container = self.create(instance, script, **more)
        self.engine.start(container)
        return container

    def see(self, container: str) -> Container | None:
        """The container as the list shows it now."""
        return next((found for found in self.engine.list() if found.id == container), None)

    def must_see(self, container: str) -> Container:
        """The container, which has to be there."""
        found = self.see(container)
        assert found is not None
        return found


def memory_rig() -> Rig:
    """Scripts on a clock; waiting moves it."""
    clock = MemoryClock()
    engine = SimulatedEngine(clock, ScriptedProcesses(clock))

    def wait(holds: Callable[[], Any]) -> Any:
        for _ in range(300):
            if value := holds():
                return value
            clock.advance(0.05)
        raise AssertionError("still not so after 15 s of the test's clock")

    return _simulated("memory", engine, SimulatedHand(engine), lambda: clock.wall, wait)


@contextmanager
def process_rig() -> Iterator[Rig]:
    """Real processes on real ports; waiting is polling."""
    clock = KernelClock()
    processes = EngineProcesses(clock)
    engine = SimulatedEngine(clock, processes)
    hand = ProcessHand(engine)
    try:
        yield _simulated("processes", engine, hand, time.time, eventually)
    finally:
        hand.ports.close()
        processes.close()


def _simulated(
    kind: str, engine: SimulatedEngine, hand: Hand, now: Callable[[], float], wait: Callable[[Callable[[], Any]], Any]
) -> Rig:
    engine.add_image(IMAGE)

    def behave(instance: str, script: Script) -> tuple[str, ...]:
        engine.behave(instance, script)
        return ()

    def unreachable() -> Engine:
        engine.reachable = False
        return engine

    return Rig("contract", kind, engine, hand, IMAGE, now, behave, wait, unreachable)


def real_rig(docker: DockerRig, unreachable: Callable[[], Engine]) -> Rig:
    """A real engine; scripts become shell commands, waiting is polling."""
    return Rig(
        docker.name,
        "docker",
        docker.engine,
        DockerHand(docker),
        docker.image,
        time.time,
        lambda _instance, script: shell_of(script),
        eventually,
        unreachable,
    )


def shell_of(script: Script) -> tuple[str, ...]:
    """A shell command that lives as the script says: its log, its end, and how it takes TERM."""
    parts, passed = _on_term(script), 0.0
    for line in sorted(script.log or (), key=lambda line: line.at_s):
        if line.at_s > passed:
            parts.append(f"sleep {line.at_s - passed:g}")
            passed = line.at_s
        parts.append(f"printf '%s\\n' {shlex.quote(line.text)}{' >&2' if line.stderr else ''}")
    if script.exits_s is None:
        parts.append("sleep 3600 & wait $!")
    else:
        parts += [f"sleep {max(0.0, script.exits_s - passed):g}", f"exit {script.exit_code}"]
    return (script.refuses,) if script.refuses else ("sh", "-c", "; ".join(parts))


def _on_term(script: Script) -> list[str]:
    if script.ignore_term:
        return ["trap '' TERM"]
    if script.term_s or script.term_code not in (None, TERMINATED):
        return [f"trap 'sleep {script.term_s:g}; exit {script.term_code}' TERM"]
    return []


@dataclass(slots=True)
class HostPorts:
    """Ports that other programs of the host listen on, each with a real socket."""

    _sockets: dict[int, socket.socket] = field(default_factory=dict)

    def listen(self, port: int) -> None:
        """Take it."""
        held = self._sockets[port] = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", port))
        held.listen()

    def release(self, port: int) -> None:
        """Give it back."""
        self._sockets.pop(port).close()

    def close(self) -> None:
        """Give all back."""
        while self._sockets:
            self._sockets.popitem()[1].close()


@dataclass(frozen=True, slots=True)
class ProcessHand(SimulatedHand):
    """Somebody on the host of real processes: who listens there listens on a real port."""

    ports: HostPorts = field(default_factory=HostPorts)

    def listen(self, port: int, *, address: str = "127.0.0.1", process: str = "python3") -> None:
        self.ports.listen(port)

    def release(self, port: int) -> None:
        self.ports.release(port)


@dataclass(slots=True)
class DockerHand:
    """Somebody with the Docker command line on the same host; foreign containers come from testcontainers."""

    rig: DockerRig
    ports: HostPorts = field(default_factory=HostPorts)

    def __post_init__(self) -> None:
        self.rig.later(self.ports.close)

    def kill(self, container: str) -> None:
        self.rig.api.kill(container)
        self._until_ended(container)

    def stop(self, container: str) -> None:
        self.rig.api.stop(container, timeout=5)

    def pause(self, container: str) -> None:
        self.rig.api.pause(container)

    def rename(self, container: str, name: str) -> None:
        self.rig.api.rename(container, name)

    def remove(self, container: str) -> None:
        self.rig.api.remove_container(container, force=True)

    def restart_policy(self, container: str, policy: str) -> None:
        self.rig.api.update_container(container, restart_policy={"Name": policy})  # type: ignore[arg-type]

    def foreign(self, name: str, image: str, *, port: int | None = None) -> str:
        made = DockerContainer(image).with_name(name).with_command(["sleep", "3600"]).with_kwargs(init=True)
        if port is not None:
            made = made.with_bind_ports(8000, port)
        made.start()
        self.rig.later(made.stop)
        return str(made.get_wrapped_container().id)

    def listen(self, port: int) -> None:
        self.ports.listen(port)

    def release(self, port: int) -> None:
        self.ports.release(port)

    def _until_ended(self, container: str) -> None:
        eventually(lambda: self.rig.api.inspect_container(container)["State"]["Status"] == "exited")
