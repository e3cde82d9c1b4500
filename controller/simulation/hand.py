"""What other people and programs do to an engine behind Steward's back, on a simulated one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from controller.model.observed import Container, ContainerState, Listener
from controller.simulation.cell import Cell
from controller.simulation.container_engine import SimulatedEngine

_GRACE_S: Final = 10.0
"""Docker's own, when nobody says another."""


@dataclass(frozen=True, slots=True)
class SimulatedHand:
    """Somebody with a shell on the host."""

    engine: SimulatedEngine

    def kill(self, container: str) -> None:
        """`docker kill`."""
        self.engine.cells.kill(self.engine.cells.find(container))

    def stop(self, container: str) -> None:
        """`docker stop`."""
        self.engine.cells.stop(self.engine.cells.find(container), _GRACE_S)

    def start(self, container: str) -> None:
        """`docker start`."""
        self.engine.cells.start(self.engine.cells.find(container))

    def pause(self, container: str) -> None:
        """`docker pause`."""
        self.engine.cells.pause(self.engine.cells.find(container))

    def rename(self, container: str, name: str) -> None:
        """`docker rename`."""
        cells = self.engine.cells
        with cells.lock:
            cell = cells.find(container)
            cells.check_name(name)
            cell.seen = replace(cell.seen, name=name)
            cells.tell("rename", container)

    def remove(self, container: str) -> None:
        """`docker rm -f`."""
        cell = self.engine.cells.find(container)
        if cell.seen.running:
            self.kill(container)
        self.engine.cells.drop(cell)

    def restart_policy(self, container: str, policy: str) -> None:
        """`docker update --restart`."""
        cells = self.engine.cells
        with cells.lock:
            cell = cells.find(container)
            cell.seen = replace(cell.seen, restart_policy=policy)
            cells.tell("update", container)

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
        _end_now(cells.find(container), code, oom=oom)
        cells.settle()

    def clear_card(self, uuid: str) -> None:
        """`kill -9` of every process that containers which are over left on a card."""
        cells = self.engine.cells
        with cells.lock:
            for left in [left for left in cells.leftovers if left.uuid == uuid]:
                cells.leftovers.remove(left)

    def restart_engine(self) -> None:
        """The engine itself restarts: without live-restore every container ends, and nobody was to blame."""
        cells = self.engine.cells
        cells.settle()
        for cell in tuple(cells.by_id.values()):
            if cell.seen.running:
                cells.resume(cell)
                _end_now(cell, 0)
        cells.settle()


def _end_now(cell: Cell, code: int, *, oom: bool = False) -> None:
    if cell.process is not None:
        cell.process.change(replace(cell.script, exits_s=0.0, exit_code=code, oom=oom, changes=()))
