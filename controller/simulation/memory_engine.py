"""A container engine in memory: the same four ports as the Docker adapter and the same contract tests, without time of its own.

Nothing runs here: at each call the engine looks at the clock that it was given and lets every container be where its script
says that it is by now. What people do to an engine behind Steward's back is in `memory_hand`.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from controller.errors import EngineUnreachable, EnvironmentFault, NotFound, PullFailed, SpecFault, StewardError
from controller.model.observed import Container, ContainerState, HandSignal, Image, LogTail
from controller.model.plan import CreateRequest
from controller.ports import Clock
from controller.simulation.memory_cells import Cells
from controller.simulation.script import Script


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure to come: the next `times` calls of `call` whose subject contains `subject` raise `error`.

    The subject is a container's name or an image reference. With `after` the effect takes place all the same and only the
    reply is lost.
    """

    call: str
    error: StewardError
    subject: str = ""
    after: bool = False
    times: int = 1


class MemoryEngine:
    """Containers, Images, ContainerLogs and ContainerEvents over plain state that a test may look at."""

    def __init__(self, clock: Clock) -> None:
        """An engine without images and containers."""
        self.clock = clock
        self.cells = Cells(clock)
        self.images: dict[str, Image] = {}
        self.registry: dict[str, Image] = {}
        self.networks: set[str] = {"bridge", "host", "none"}
        self.faults: deque[Fault] = deque()
        self.reachable = True
        self._told = 0

    def behave(self, instance: str, script: Script) -> None:
        """From its next start on, containers of this instance do this."""
        self.cells.scripts[instance] = script

    def add_image(self, reference: str, *, in_registry: bool = False) -> Image:
        """An image that is here, or one that a pull would find."""
        image = Image(f"sha256:{_digest(reference)}", tags=(reference,), size_bytes=1_000_000)
        (self.registry if in_registry else self.images)[reference] = image
        return image

    def list(self) -> tuple[Container, ...]:
        """Every container, ours in full, foreign ones in summary."""
        with self._call("list"):
            self.cells.settle()
            return tuple(_as_listed(cell.seen) for cell in reversed(self.cells.by_id.values()))

    def create(self, request: CreateRequest, env: Mapping[str, str], argv: Sequence[str]) -> str:
        """Create without starting; the id."""
        with self._call("create", request.name):
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
            return cell.seen.id

    def start(self, container: str) -> None:
        """Start; a container that runs already is fine."""
        with self._call("start", container):
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
        with self._call("remove", container):
            try:
                cell = self.cells.find(container)
            except NotFound:
                return
            if cell.seen.running:
                raise SpecFault(f"You cannot remove a {cell.seen.state} container {container}")
            self.cells.drop(cell)

    def rename(self, container: str, name: str) -> None:
        """Give it this name; that it has it already is fine."""
        with self._call("rename", container):
            cell = self.cells.find(container)
            if cell.seen.name != name:
                self.cells.check_name(name)
                cell.seen = replace(cell.seen, name=name)
                self.cells.tell("rename", container)

    def unpause(self, container: str) -> None:
        """Let a paused container run on; one that runs is fine."""
        with self._call("unpause", container):
            cell = self.cells.find(container)
            if cell.seen.state is ContainerState.PAUSED:
                cell.seen = replace(cell.seen, state=ContainerState.RUNNING)
                self.cells.tell("unpause", container)

    def reset_policy(self, container: str) -> None:
        """Set the restart policy back to `no`."""
        with self._call("reset_policy", container):
            cell = self.cells.find(container)
            cell.seen = replace(cell.seen, restart_policy="no")
            self.cells.tell("update", container)

    def engine_id(self) -> str:
        """Always the same."""
        with self._call("engine_id"):
            return "MEMORY"

    def inspect(self, reference: str) -> Image | None:
        """The local image of this reference or id."""
        with self._call("inspect", reference):
            return self._image(reference)

    def pull(self, reference: str, progress: Callable[[str], None]) -> Image:
        """Take it from the registry; raises PullFailed."""
        with self._call("pull", reference):
            image = self.registry.get(reference)
            if image is None:
                raise PullFailed(f"pull of {reference}: not found: manifest unknown")
            progress(f"downloading 100 % of {image.size_bytes / 1e6:.0f} MB in 1 layers")
            self.images[reference] = image
            return image

    def tail(self, container: str, lines: int) -> LogTail:
        """The last lines that were written by now."""
        with self._call("tail", container):
            written = self.cells.find(container).log(self.clock.now().wall)
            last = tuple(line.text for line in written)[-lines:]
            return LogTail(last, f"{len(written)} {_digest(chr(10).join(last))[:12]}")

    def follow(self, wake: Callable[[str], None], stopping: Callable[[], bool]) -> None:
        """Tell what happened since the last call and return: here the stream ends where the present begins."""
        with self._call("follow"):
            self.cells.settle()
        fresh = self.cells.events_ever - self._told
        self._told = self.cells.events_ever
        for event in tuple(self.cells.events)[-fresh:] if fresh else ():
            if stopping():
                return
            wake(f"docker-{event.action}")

    def hand_signal(self, container: str, since: float, until: float) -> HandSignal | None:
        """The last kill or stop of a container in a span of Unix time, as the engine still remembers it."""
        with self._call("hand_signal", container):
            self.cells.settle()
        last: HandSignal | None = None
        pending: HandSignal | None = None
        for event in self.cells.events:
            if event.container != container or not since <= event.at <= until:
                continue
            if event.action == "kill":
                pending = last = HandSignal(container, "kill", event.at)
            elif event.action == "stop":  # told after the death that it caused
                last = HandSignal(container, "stop", event.at)
            elif event.action == "die":
                last, pending = pending, None
        return last

    @contextmanager
    def _call(self, call: str, subject: str = "") -> Iterator[None]:
        """The frame of every call: an engine that is away, a fault before the effect, or a reply that is lost after it."""
        if not self.reachable:
            raise EngineUnreachable("the engine does not answer: connection refused")
        fault = self._due_fault(call, subject)
        if fault is not None and not fault.after:
            raise fault.error
        yield
        if fault is not None:
            raise fault.error

    def _due_fault(self, call: str, subject: str) -> Fault | None:
        cell = self.cells.by_id.get(subject)
        name = cell.seen.name if cell is not None else subject
        fault = next((fault for fault in self.faults if fault.call == call and fault.subject in name), None)
        if fault is not None:
            place = self.faults.index(fault)
            if fault.times > 1:
                self.faults[place] = replace(fault, times=fault.times - 1)
            else:
                del self.faults[place]
        return fault

    def _image(self, reference: str) -> Image | None:
        known = self.images.get(reference)
        return known or next((image for image in self.images.values() if image.id == reference), None)


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
