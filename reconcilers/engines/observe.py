"""What can be seen of the containers: the list, the logs of those that boot or died, and whose hand stopped them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from controller.errors import EnvironmentFault, NotFound
from controller.model.observed import Container, ContainerState, HandSignal, LogTail
from controller.model.reading import Known, Reading, Unknown
from controller.model.resolved import Resolved
from controller.model.track import Memory
from controller.ports import ContainerEvents, ContainerLogs, Containers

SIGNAL_SPAN_S = 90.0
"""A stop by hand begins at most this long before the end of the container: Docker's default grace is 10 s, ours 30 s."""


@dataclass(slots=True)
class EngineObserver:
    """Reads containers, logs and event evidence; a failed read is Unknown or left out, never "nothing"."""

    containers: Containers
    logs: ContainerLogs
    events: ContainerEvents
    log_lines: int
    _signals: dict[tuple[str, float | None], HandSignal | None] = field(default_factory=dict)

    def list(self) -> Reading[tuple[Container, ...]]:
        """Every container of the engine."""
        try:
            return Known(self.containers.list())
        except EnvironmentFault as fault:
            return Unknown(str(fault))

    def tails(self, resolved: Resolved, memory: Memory, containers: Iterable[Container]) -> dict[str, LogTail]:
        """The log tails of our containers that boot, or that ended with the wanted spec."""
        tails = {}
        for container in containers:
            if _log_matters(resolved, memory, container):
                try:
                    tails[container.id] = self.logs.tail(container.id, self.log_lines)
                except (EnvironmentFault, NotFound):
                    continue
        return tails

    def hand_signals(self, resolved: Resolved, memory: Memory, containers: Iterable[Container]) -> dict[str, HandSignal]:
        """Evidence that an ended container of the wanted spec was stopped by somebody else; asked once for each end."""
        found = {}
        for container in containers:
            ended = container.state is ContainerState.EXITED and container.id not in memory.stops
            if ended and _is_wanted(resolved, container) and (signal := self._signal(container)):
                found[container.id] = signal
        return found

    def _signal(self, container: Container) -> HandSignal | None:
        key = (container.id, container.finished_at)
        if key not in self._signals and container.finished_at is not None:
            until = container.finished_at + 1.0
            since = max(container.finished_at - SIGNAL_SPAN_S, container.started_at or 0.0)
            try:
                self._signals[key] = self.events.hand_signal(container.id, since, until)
            except EnvironmentFault:
                return None
        return self._signals.get(key)


def _is_wanted(resolved: Resolved, container: Container) -> bool:
    instance = resolved.get(container.identity.instance) if container.identity else None
    return instance is not None and container.identity is not None and instance.is_spec_of(container.identity)


def _log_matters(resolved: Resolved, memory: Memory, container: Container) -> bool:
    if container.identity is None or (container.identity.instance, container.identity.spec_hash) in memory.failures:
        return False
    booting = container.state is ContainerState.RUNNING and container.id not in memory.ready_marks
    ended = container.state is ContainerState.EXITED and container.id not in memory.stops and _is_wanted(resolved, container)
    return booting or ended
