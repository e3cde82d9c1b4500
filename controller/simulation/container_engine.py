"""A container engine without containers: the rules of Docker over processes of any kind, behind the Docker adapter's ports.

The processes are scripts on a test's clock or real ones with real ports; nothing here depends on which. At each call the
engine lets every container be where its process is by then. What people do to an engine behind Steward's back is in
`hand`.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from controller.errors import EngineUnreachable, EnvironmentFault, NotFound, PullFailed, SpecFault
from controller.model.observed import Container, ContainerState, HandSignal, Image, LogTail
from controller.model.plan import CreateRequest
from controller.ports import Clock
from controller.simulation.cell import EngineEvent
from controller.simulation.cells import Cells
from controller.simulation.engine.config import configure
from controller.simulation.engine.script import Script
from controller.simulation.faults import Fault, take
from controller.simulation.process import Processes


class SimulatedEngine:
    """Containers, Images, ContainerLogs and ContainerEvents over state that a test may look at; any thread may call it."""

    def __init__(self, clock: Clock, processes: Processes) -> None:
        """An engine without images and containers."""
        self.clock = clock
        self.processes = processes
        self.cells = Cells(clock, processes)
        self.images: dict[str, Image] = {}
        self.registry: dict[str, Image] = {}
        self.registry_has_all = False
        """Whether a pull finds whatever it asks for."""
        self.networks: set[str] = {"bridge", "host", "none"}
        self.faults: deque[Fault] = deque()
        self.reachable = True
        self.silent_until = 0.0
        """What happens before this moment (Unix time) the event stream never tells, although it is open."""
        self._told = 0
        self._listed: tuple[Container, ...] | None = None
        self._arrivals: dict[str, float] = {}

    def behave(self, instance: str, script: Script) -> None:
        """From its next start on, containers of this instance do this; a foreign container is meant by its name."""
        self.cells.scripts[instance] = script

    @property
    def default(self) -> Script:
        """What containers of all other instances do from their next start on."""
        return self.cells.default

    @default.setter
    def default(self, script: Script) -> None:
        self.cells.default = script

    def change(self, instance: str, script: Script) -> None:
        """From now on, containers of this instance do this, those that run already included; their own flags go on to win."""
        with self.cells.lock:
            self.behave(instance, script)
            self.cells.settle()
            for cell in self.cells.by_id.values():
                if cell.process is not None and cell.seen.running and instance == (cell.instance or cell.name):
                    cell.process.change(configure(cell.argv, cell.env, dialect=cell.dialect.value, base=script).script)

    def add_image(self, reference: str, *, in_registry: bool = False) -> Image:
        """An image that is here, or one that a pull would find."""
        image = _any_image(reference)
        (self.registry if in_registry else self.images)[reference] = image
        return image

    def list(self) -> tuple[Container, ...]:
        """Every container, ours in full, foreign ones in summary."""
        with self._call("list") as fault, self.cells.lock:
            if self._listed is None or fault is None or not fault.stale:
                self.cells.settle()
                self._listed = tuple(_as_listed(cell.seen) for cell in reversed(self.cells.by_id.values()))
            return self._listed

    def create(self, request: CreateRequest, env: Mapping[str, str], argv: Sequence[str]) -> str:
        """Create without starting; the id."""
        with self._call("create", request.name), self.cells.lock:
            spec = request.spec
            image = self._image(request.image_id or spec.image)
            if image is None:
                raise NotFound(f"No such image: {request.image_id or spec.image}")
            if missing := [name for name in spec.networks if name not in self.networks]:
                raise EnvironmentFault(f"network {missing[0]}: network {missing[0]} not found")
            container = Container(
                id="",
                name=request.name,
                state=ContainerState.CREATED,
                image_id=image.id,
                identity=request.identity,
                host_ports=(spec.port,),
            )
            cell = self.cells.add(container)
            cell.bind, cell.gpus, cell.env, cell.argv = spec.bind, spec.gpus, dict(env), tuple(argv)
            cell.dialect = request.dialect
            return cell.seen.id

    def start(self, container: str) -> None:
        """Start; a container that runs already is fine."""
        with self._call("start", container), self.cells.lock:
            cell = self.cells.find(container)
            if cell.seen.state is ContainerState.PAUSED:
                raise EnvironmentFault("cannot start a paused container, try unpause instead")
            if not cell.seen.running:
                self.cells.start(cell)

    def stop(self, container: str, term_s: float) -> None:
        """TERM, after `term_s` seconds KILL; a container that does not run is fine."""
        with self._call("stop", container):
            cell = self.cells.find(container)
            if cell.seen.running:
                self.cells.stop(cell, term_s)

    def remove(self, container: str) -> None:
        """Remove a container that does not run; one that is gone is fine, one that runs is a SpecFault."""
        with self._call("remove", container), self.cells.lock:
            try:
                cell = self.cells.find(container)
            except NotFound:
                return
            if cell.seen.running:
                raise SpecFault(f"You cannot remove a {cell.seen.state} container {container}")
            self.cells.drop(cell)

    def rename(self, container: str, name: str) -> None:
        """Give it this name; that it has it already is fine."""
        with self._call("rename", container), self.cells.lock:
            cell = self.cells.find(container)
            if cell.seen.name != name:
                self.cells.check_name(name)
                cell.seen = replace(cell.seen, name=name)
                self.cells.tell("rename", container)

    def unpause(self, container: str) -> None:
        """Let a paused container run on; one that runs is fine."""
        with self._call("unpause", container), self.cells.lock:
            self.cells.resume(self.cells.find(container))

    def reset_policy(self, container: str) -> None:
        """Set the restart policy back to `no`."""
        with self._call("reset_policy", container), self.cells.lock:
            cell = self.cells.find(container)
            cell.seen = replace(cell.seen, restart_policy="no")
            self.cells.tell("update", container)

    def engine_id(self) -> str:
        """Always the same."""
        with self._call("engine_id"):
            return "MEMORY"

    def inspect(self, reference: str) -> Image | None:
        """The local image of this reference or id."""
        with self._call("inspect", reference), self.cells.lock:
            return self._image(reference)

    def pull(self, reference: str, progress: Callable[[str], None]) -> Image:
        """Take it from the registry; raises PullFailed."""
        with self._call("pull", reference) as fault:
            image = self.registry.get(reference) or (_any_image(reference) if self.registry_has_all else None)
            if image is None:
                raise PullFailed(f"pull of {reference}: not found: manifest unknown")
            progress(f"downloading 100 % of {image.size_bytes / 1e6:.0f} MB in 1 layers")
            with self.cells.lock:
                self._arrivals[reference] = self.clock.now().mono + (fault.takes_s if fault is not None else 0.0)
                self.images[reference] = image
            return image

    def tail(self, container: str, lines: int) -> LogTail:
        """The last lines that were written by now."""
        with self._call("tail", container):
            written = self.cells.find(container).log()
            last = written[-lines:]
            return LogTail(last, f"{len(written)} {_digest(chr(10).join(last))[:12]}")

    def follow(self, wake: Callable[[str], None], stopping: Callable[[], bool]) -> None:
        """Tell what happened since the last call. Where time passes by waiting it goes on until `stopping` says so; where it
        does not, the stream ends where the present begins.
        """
        while True:
            with self._call("follow"):
                fresh = self._fresh_events()
            for event in fresh:
                if stopping():
                    return
                wake(f"docker-{event.action}")
            if stopping() or not self.processes.wait(stopping):
                return

    def has_news(self) -> bool:
        """Whether its event stream has something to tell."""
        with self.cells.lock:
            self.cells.settle()
            return bool(self._untold_events())

    def hand_signal(self, container: str, since: float, until: float) -> HandSignal | None:
        """The last kill or stop of a container in a span of Unix time, as the engine still remembers it."""
        with self._call("hand_signal", container), self.cells.lock:
            self.cells.settle()
            events = tuple(self.cells.events)
        last: HandSignal | None = None
        pending: HandSignal | None = None
        for event in events:
            if event.container != container or not since <= event.at <= until:
                continue
            if event.action == "kill":
                pending = last = HandSignal(container, "kill", event.at)
            elif event.action == "stop":  # told after the death that it caused
                last = HandSignal(container, "stop", event.at)
            elif event.action == "die":
                last, pending = pending, None
        return last

    def _fresh_events(self) -> tuple[EngineEvent, ...]:
        with self.cells.lock:
            self.cells.settle()
            fresh = self._untold_events()
            self._told = self.cells.events_ever
            return fresh

    def _untold_events(self) -> tuple[EngineEvent, ...]:
        count = self.cells.events_ever - self._told
        return tuple(event for event in tuple(self.cells.events)[-count:] if event.at >= self.silent_until) if count else ()

    @contextmanager
    def _call(self, call: str, subject: str = "") -> Iterator[Fault | None]:
        """The frame of every call: an engine that is away, a fault before the effect, a reply that is late or lost after it."""
        if not self.reachable:
            raise EngineUnreachable("the engine does not answer: connection refused")
        fault = self._due_fault(call, subject)
        if fault is None:
            yield None
            return
        if fault.error is None or fault.after:
            yield fault
        if fault.takes_s:
            self.processes.spend(fault.takes_s)
        if fault.error is not None:
            raise fault.error

    def _due_fault(self, call: str, subject: str) -> Fault | None:
        if not self.faults:
            return None
        with self.cells.lock:
            cell = self.cells.by_id.get(subject)
            return take(self.faults, call, cell.name if cell is not None else subject)

    def _image(self, reference: str) -> Image | None:
        found = self.images.get(reference) or next((image for image in self.images.values() if image.id == reference), None)
        arrives = max((self._arrivals.get(tag, 0.0) for tag in found.tags), default=0.0) if found is not None else 0.0
        return found if arrives <= self.clock.now().mono else None


def _as_listed(container: Container) -> Container:
    """A foreign container as the list shows it."""
    if container.identity is not None:
        return container
    return Container(
        id=container.id,
        name=container.name,
        state=container.state,
        image_id=container.image_id,
        created_at=container.created_at,
        host_ports=container.host_ports if container.running else (),
        ids_complete=False,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _any_image(reference: str) -> Image:
    return Image(f"sha256:{_digest(reference)}", tags=(reference,), size_bytes=1_000_000)
