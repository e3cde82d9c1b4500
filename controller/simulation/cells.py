"""The state behind a simulated container engine: containers as cells, what happens to them, and the events that tell of it.

One lock guards all of it. It is not held while a process is being stopped: that may take as long as its grace.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NoReturn

from controller.errors import EnvironmentFault, GpuUnavailable, NameTaken, NotFound, PortTaken, SpecFault, StewardError
from controller.model.observed import Container, ContainerState, Listener
from controller.ports import Clock
from controller.simulation.cell import Cell, EngineEvent, Leftover
from controller.simulation.engine.script import Script
from controller.simulation.process import End, Process, Processes

EVENTS_KEPT: Final = 256
"""What a Docker engine remembers, too."""
LINES_KEPT: Final = 5_000
"""Of the runs before the present one."""
LEFTOVERS_KEPT: Final = 256
_FAILED_START: Final = 128
_NOT_EXECUTABLE: Final = 127
_EVERYWHERE: Final = ("0.0.0.0", "::", "")


class Cells:
    """All containers of one engine. They move only in `settle`, to where their processes are."""

    def __init__(self, clock: Clock, processes: Processes) -> None:
        """None yet."""
        self.clock = clock
        self.processes = processes
        self.lock = threading.RLock()
        self.by_id: dict[str, Cell] = {}
        self.listeners: list[Listener] = []
        self.gpu_driver = True
        self.scripts: dict[str, Script] = {}
        self.default = Script()
        self.events: deque[EngineEvent] = deque(maxlen=EVENTS_KEPT)
        self.events_ever = 0
        self.leftovers: deque[Leftover] = deque(maxlen=LEFTOVERS_KEPT)
        self._made = 0

    def find(self, container: str) -> Cell:
        """One container by id or name, as it is by now; raises NotFound."""
        with self.lock:
            found = self.by_id.get(container) or next((c for c in self.by_id.values() if c.name == container), None)
            if found is None:
                raise NotFound(f"No such container: {container}")
            self._settle((found,))
            return found

    def add(self, container: Container) -> Cell:
        """Put a container in, with an id of its own; raises NameTaken."""
        with self.lock:
            self.check_name(container.name)
            self._made += 1
            made = hashlib.sha256(f"container {self._made}".encode()).hexdigest()
            cell = self.by_id[made] = Cell(replace(container, id=made, created_at=self.clock.now().wall))
            self.tell("create", made)
            return cell

    def drop(self, cell: Cell) -> None:
        """Take it out."""
        with self.lock:
            del self.by_id[cell.seen.id]
            self.tell("destroy", cell.seen.id)

    def start(self, cell: Cell) -> None:
        """Begin a run of it now, unless something is in the way: then it stays as it was, with the reason in `error`."""
        with self.lock:
            process = self._begin(cell)
            cell.past_log = cell.log()[-LINES_KEPT:]
            cell.process, cell.end, cell.stopping = process, None, False
            cell.seen = replace(
                cell.seen,
                state=ContainerState.RUNNING,
                pid=process.pid,
                started_at=self.clock.now().wall,
                finished_at=None,
                exit_code=0,
                oom_killed=False,
                error="",
            )
            self.tell("start", cell.seen.id)

    def stop(self, cell: Cell, term_s: float) -> None:
        """TERM and, `term_s` seconds later, KILL; returns when it has ended. Others may look and act meanwhile."""
        with self.lock:
            self.resume(cell)
            cell.stopping = True
            self.tell("kill", cell.seen.id)
            process = cell.process
        if process is not None:
            process.stop(term_s)
        self.settle()

    def kill(self, cell: Cell) -> None:
        """KILL."""
        with self.lock:
            self.resume(cell)
            self.tell("kill", cell.seen.id)
            process = cell.process
        if process is not None:
            process.kill()
        self.settle()

    def pause(self, cell: Cell) -> None:
        """Freeze it."""
        with self.lock:
            if cell.process is not None and cell.seen.state is ContainerState.RUNNING:
                cell.process.pause()
                cell.seen = replace(cell.seen, state=ContainerState.PAUSED)
                self.tell("pause", cell.seen.id)

    def resume(self, cell: Cell) -> None:
        """Let it run on, if it is paused."""
        with self.lock:
            if cell.process is not None and cell.seen.state is ContainerState.PAUSED:
                cell.process.resume()
                cell.seen = replace(cell.seen, state=ContainerState.RUNNING)
                self.tell("unpause", cell.seen.id)

    def settle(self) -> None:
        """Let every container end whose process has ended, in the order of their ends."""
        with self.lock:
            self._settle(self.by_id.values())

    def tell(self, action: str, container: str, *, at: float | None = None) -> None:
        """Write an event."""
        self.events_ever += 1
        self.events.append(EngineEvent(self.clock.now().wall if at is None else at, action, container))

    def check_name(self, name: str) -> None:
        """Raise NameTaken when a container has it."""
        for cell in self.by_id.values():
            if cell.name == name:
                raise NameTaken(f'Conflict. The container name "/{name}" is already in use by container "{cell.seen.id}"')

    def script_of(self, cell: Cell) -> Script:
        """What its next run will do, its own flags and variables aside."""
        return self.scripts.get(cell.instance or cell.name, self.default)

    def _settle(self, cells: Iterable[Cell]) -> None:
        running = [(cell, cell.process) for cell in cells if cell.process is not None and cell.seen.running]
        ended = [(cell, end) for cell, process in running if (end := process.ended()) is not None]
        for cell, end in sorted(ended, key=lambda pair: pair[1].at):
            self._end(cell, end)

    def _end(self, cell: Cell, end: End) -> None:
        script, ran_s = cell.script, cell.age(end.at)
        if script.at(ran_s).release_s or script.at(ran_s).residue_mib:
            self.leftovers.extend(
                Leftover(uuid, cell.seen.pid, cell.name, cell.dialect, script, ran_s, end.at) for uuid in cell.gpus
            )
        cell.end = end
        cell.seen = replace(
            cell.seen,
            state=ContainerState.EXITED,
            pid=0,
            exit_code=end.code,
            oom_killed=end.oom,
            finished_at=end.at,
        )
        self.tell("die", cell.seen.id, at=end.at)
        if cell.stopping:
            self.tell("stop", cell.seen.id, at=end.at)

    def _begin(self, cell: Cell) -> Process:
        """Its process, or the refusal as Docker words it."""
        if reason := self._port_holder(cell):
            self._refuse(cell, PortTaken(reason), _FAILED_START)
        if cell.gpus and not self.gpu_driver:
            reason = 'could not select device driver "nvidia" with capabilities: [[gpu]]'
            self._refuse(cell, GpuUnavailable(reason), _FAILED_START)
        script = self.script_of(cell)
        if script.refuses:
            self._refuse(cell, SpecFault(script.refuses), _NOT_EXECUTABLE)
        try:
            return self.processes.start(cell.order(script))
        except EnvironmentFault as error:
            self._refuse(cell, error, _FAILED_START)
        except SpecFault as error:
            self._refuse(cell, error, _NOT_EXECUTABLE)

    def _refuse(self, cell: Cell, error: StewardError, code: int) -> NoReturn:
        """As Docker does it: a container that ran before keeps its old exit code."""
        first = cell.seen.state is ContainerState.CREATED
        cell.seen = replace(cell.seen, error=str(error), exit_code=code if first else cell.seen.exit_code)
        raise error

    def _port_holder(self, cell: Cell) -> str:
        for port in cell.seen.host_ports:
            for other in self.by_id.values():
                if other is not cell and other.seen.running and port in other.seen.host_ports and _meet(cell.bind, other.bind):
                    return f"Bind for {cell.bind}:{port} failed: port is already allocated"
            if any(listener.port == port and _meet(cell.bind, listener.address) for listener in self.listeners):
                return f"listen tcp4 {cell.bind}:{port}: bind: address already in use"
        return ""


def _meet(one: str, other: str) -> bool:
    return one == other or one in _EVERYWHERE or other in _EVERYWHERE
