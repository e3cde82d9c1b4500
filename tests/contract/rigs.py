"""The two engines that one contract suite runs on: the one in memory and a real Docker engine, behind the same few words."""

from __future__ import annotations

import shlex
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from testcontainers.core.container import DockerContainer

from controller.model.identity import Identity
from controller.model.observed import Container
from controller.model.plan import CreateRequest
from controller.model.resolved import ContainerSpec
from controller.ports import ContainerEvents, ContainerLogs, Containers, Images
from controller.simulation.memory_engine import MemoryEngine
from controller.simulation.memory_hand import MemoryHand
from controller.simulation.memory_world import MemoryClock
from controller.simulation.script import Script
from tests.docker_fixtures import DockerRig, eventually

QUIET = Script()
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

    def request(self, instance: str = "one", script: Script = QUIET, *, generation: int = 1, **spec: Any) -> CreateRequest:
        """A create request for a container that does as the script says."""
        wanted = ContainerSpec(
            **{"image": self.image, "argv": self.behave(instance, script), "port": free_port(), "container_port": 8000, **spec}
        )
        identity = Identity(self.name, instance, "0123456789abcdef", generation, revision="r1", image_id="sha256:pin")
        return CreateRequest(identity, identity.container_name(), wanted)

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
    """The engine in memory; waiting moves its clock."""
    clock = MemoryClock()
    engine = MemoryEngine(clock)
    image = "steward-test/python:3.11"
    engine.add_image(image)

    def behave(instance: str, script: Script) -> tuple[str, ...]:
        engine.behave(instance, script)
        return ("simulated",)

    def wait(holds: Callable[[], Any]) -> Any:
        for _ in range(300):
            if value := holds():
                return value
            clock.advance(0.05)
        raise AssertionError("still not so after 15 s of the test's clock")

    def unreachable() -> Engine:
        engine.reachable = False
        return engine

    return Rig(
        "contract",
        "memory",
        engine,
        MemoryHand(engine),
        "steward-test/python:3.11",
        lambda: clock.wall,
        behave,
        wait,
        unreachable,
    )


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
    """A shell command that lives as the script says: its log, its end and its deafness to TERM."""
    parts = ["trap '' TERM"] if script.term_s > 1 else []
    passed = 0.0
    for line in sorted(script.log, key=lambda line: line.at_s):
        if line.at_s > passed:
            parts.append(f"sleep {line.at_s - passed:g}")
            passed = line.at_s
        parts.append(f"printf '%b\\n' {shlex.quote(line.text)}{' >&2' if line.stderr else ''}")
    if script.exits_s is None:
        parts.append("exec sleep 3600")
    else:
        parts += [f"sleep {max(0.0, script.exits_s - passed):g}", f"exit {script.exit_code}"]
    return (script.refuses,) if script.refuses else ("sh", "-c", "; ".join(parts))


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class DockerHand:
    """Somebody with the Docker command line on the same host; foreign containers come from testcontainers."""

    rig: DockerRig
    _sockets: dict[int, socket.socket] = field(default_factory=dict)

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
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", port))
        held.listen()
        self._sockets[port] = held
        self.rig.later(held.close)

    def release(self, port: int) -> None:
        self._sockets.pop(port).close()

    def _until_ended(self, container: str) -> None:
        eventually(lambda: self.rig.api.inspect_container(container)["State"]["Status"] == "exited")
