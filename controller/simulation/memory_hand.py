"""What other people and programs do to an engine behind Steward's back, on the engine in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.model.observed import Container, ContainerState, Listener
from controller.simulation.memory_engine import MemoryEngine
from controller.simulation.script import KILLED


@dataclass(frozen=True, slots=True)
class MemoryHand:
    """Somebody with a shell on the host."""

    engine: MemoryEngine

    def kill(self, container: str) -> None:
        """`docker kill`."""
        cells = self.engine.cells
        cell = cells.find(container)
        cells.tell("kill", cell.seen.id)
        cells.end(cell, KILLED)

    def stop(self, container: str) -> None:
        """`docker stop`."""
        cells = self.engine.cells
        cells.stop(cells.find(container), 10.0)

    def start(self, container: str) -> None:
        """`docker start`."""
        self.engine.cells.start(self.engine.cells.find(container))

    def pause(self, container: str) -> None:
        """`docker pause`."""
        cell = self.engine.cells.find(container)
        cell.seen = replace(cell.seen, state=ContainerState.PAUSED)
        self.engine.cells.tell("pause", container)

    def rename(self, container: str, name: str) -> None:
        """`docker rename`."""
        cell = self.engine.cells.find(container)
        self.engine.cells.check_name(name)
        cell.seen = replace(cell.seen, name=name)
        self.engine.cells.tell("rename", container)

    def remove(self, container: str) -> None:
        """`docker rm -f`."""
        cell = self.engine.cells.find(container)
        if cell.seen.running:
            self.kill(container)
        self.engine.cells.drop(cell)

    def restart_policy(self, container: str, policy: str) -> None:
        """`docker update --restart`."""
        cell = self.engine.cells.find(container)
        cell.seen = replace(cell.seen, restart_policy=policy)
        self.engine.cells.tell("update", container)

    def foreign(self, name: str, image: str, *, port: int | None = None, bind: str = "127.0.0.1") -> str:
        """`docker run` of something that is not Steward's; its id."""
        found = self.engine.images[image]
        ports = (port,) if port else ()
        cells = self.engine.cells
        cell = cells.add(Container("", name, ContainerState.CREATED, image_id=found.id, host_ports=ports))
        cell.bind = bind
        cells.start(cell)
        return cell.seen.id

    def listen(self, port: int, *, address: str = "127.0.0.1", process: str = "python3") -> None:
        """Some program of the host takes the port."""
        self.engine.cells.listeners.append(Listener(address, port, pid=4000 + port % 1000, process=process))

    def release(self, port: int) -> None:
        """It gives it back."""
        cells = self.engine.cells
        cells.listeners = [listener for listener in cells.listeners if listener.port != port]

    def crash(self, container: str, code: int = 1, *, oom: bool = False) -> None:
        """The container's process ends by itself."""
        cells = self.engine.cells
        cells.end(cells.find(container), code, oom=oom)

    def restart_engine(self) -> None:
        """The engine itself restarts: without live-restore every container ends, and nobody was to blame."""
        for cell in tuple(self.engine.cells.by_id.values()):
            if cell.seen.running:
                self.engine.cells.end(cell, 0)
