"""The state behind the engine in memory: containers as cells, what happens to them, and the events that tell of it."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from controller.errors import GpuUnavailable, NameTaken, NotFound, PortTaken, SpecFault, StewardError
from controller.model.observed import Container, ContainerState, Listener
from controller.ports import Clock
from controller.simulation.script import KILLED, Line, Script

EVENTS_KEPT: Final = 256
"""What a Docker engine remembers, too."""
_FAILED_START: Final = 128
_NOT_EXECUTABLE: Final = 127
_EVERYWHERE: Final = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """One event in Docker's words."""

    at: float
    action: str
    container: str


@dataclass(slots=True)
class Cell:
    """One container with what only the engine knows about it."""

    seen: Container
    bind: str = "127.0.0.1"
    gpus: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    script: Script = Script()
    runs: int = 0
    past_log: tuple[Line, ...] = ()

    def age(self, wall: float) -> float:
        """Seconds of its present run; of a stopped one until its end."""
        if self.seen.started_at is None:
            return 0.0
        end = wall if self.seen.running else (self.seen.finished_at or wall)
        return end - self.seen.started_at

    def log(self, wall: float) -> tuple[Line, ...]:
        """All that it has written by now, earlier runs included."""
        age = self.age(wall)
        return (*self.past_log, *(line for line in self.script.log if self.runs and line.at_s <= age))


class Cells:
    """All containers of one engine. They move only in `settle`, to where the clock says that their scripts are."""

    def __init__(self, clock: Clock) -> None:
        """None yet."""
        self.clock = clock
        self.by_id: dict[str, Cell] = {}
        self.listeners: list[Listener] = []
        self.gpu_driver = True
        self.scripts: dict[str, Script] = {}
        self.events: deque[EngineEvent] = deque(maxlen=EVENTS_KEPT)
        self.events_ever = 0
        self._made = 0

    def find(self, container: str) -> Cell:
        """One container by id or name, as it is by now; raises NotFound."""
        self.settle()
        found = self.by_id.get(container) or next((c for c in self.by_id.values() if c.seen.name == container), None)
        if found is None:
            raise NotFound(f"No such container: {container}")
        return found

    def add(self, container: Container) -> Cell:
        """Put a container in, with an id of its own; raises NameTaken."""
        self.check_name(container.name)
        self._made += 1
        made = hashlib.sha256(f"container {self._made}".encode()).hexdigest()
        cell = self.by_id[made] = Cell(replace(container, id=made, created_at=self.clock.now().wall))
        self.tell("create", made)
        return cell

    def drop(self, cell: Cell) -> None:
        """Take it out."""
        del self.by_id[cell.seen.id]
        self.tell("destroy", cell.seen.id)

    def start(self, cell: Cell) -> None:
        """Begin a run of it now, unless something is in the way: then it stays as it was, with the reason in `error`."""
        self._check_start(cell)
        if cell.runs:
            cell.past_log = cell.log(self.clock.now().wall)
        cell.runs += 1
        cell.script = self._script(cell)
        cell.seen = replace(
            cell.seen,
            state=ContainerState.RUNNING,
            pid=1000 + int(cell.seen.id[:6], 16),
            started_at=self.clock.now().wall,
            finished_at=None,
            exit_code=0,
            oom_killed=False,
            error="",
        )
        self.tell("start", cell.seen.id)

    def stop(self, cell: Cell, term_s: float) -> None:
        """TERM and, where the script takes longer than `term_s`, KILL; nothing waits for it."""
        in_time = cell.script.term_s <= term_s
        self.tell("kill", cell.seen.id)
        self.end(cell, cell.script.term_code if in_time else KILLED)
        self.tell("stop", cell.seen.id)

    def end(self, cell: Cell, code: int, *, at: float | None = None, oom: bool = False) -> None:
        """Its process is over."""
        when = self.clock.now().wall if at is None else at
        cell.seen = replace(cell.seen, state=ContainerState.EXITED, pid=0, exit_code=code, oom_killed=oom, finished_at=when)
        self.tell("die", cell.seen.id, at=when)

    def settle(self) -> None:
        """Let every container end whose script has come to its end."""
        now = self.clock.now().wall
        for cell in self.by_id.values():
            ends, began = cell.script.exits_s, cell.seen.started_at
            if cell.seen.state is ContainerState.RUNNING and ends is not None and began is not None and now >= began + ends:
                self.end(cell, cell.script.exit_code, at=began + ends, oom=cell.script.oom)

    def tell(self, action: str, container: str, *, at: float | None = None) -> None:
        """Write an event."""
        self.events_ever += 1
        self.events.append(EngineEvent(self.clock.now().wall if at is None else at, action, container))

    def check_name(self, name: str) -> None:
        """Raise NameTaken when a container has it."""
        for cell in self.by_id.values():
            if cell.seen.name == name:
                raise NameTaken(f'Conflict. The container name "/{name}" is already in use by container "{cell.seen.id}"')

    def _check_start(self, cell: Cell) -> None:
        if reason := self._port_holder(cell):
            self._refuse(cell, PortTaken(reason), _FAILED_START)
        if cell.gpus and not self.gpu_driver:
            reason = 'could not select device driver "nvidia" with capabilities: [[gpu]]'
            self._refuse(cell, GpuUnavailable(reason), _FAILED_START)
        if refusal := self._script(cell).refuses:
            self._refuse(cell, SpecFault(refusal), _NOT_EXECUTABLE)

    def _refuse(self, cell: Cell, error: StewardError, code: int) -> None:
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

    def _script(self, cell: Cell) -> Script:
        return self.scripts.get(cell.seen.identity.instance if cell.seen.identity else cell.seen.name, Script())


def _meet(one: str, other: str) -> bool:
    return one == other or one in _EVERYWHERE or other in _EVERYWHERE
