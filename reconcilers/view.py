"""A situation with its containers sorted by instance: what the planners of all kinds look things up in. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from controller.model.desired import RunState
from controller.model.observed import Container, ContainerState, Listener
from controller.model.reading import Known, Unknown
from controller.model.resolved import ResolvedInstance
from controller.model.situation import Situation
from controller.model.track import Failure

WILDCARDS = frozenset({"0.0.0.0", "::", "*"})


@dataclass(slots=True)
class View:
    """Lookups over one situation; built once a pass."""

    situation: Situation
    grace: float = 5.0
    _mine: dict[str, list[Container]] = field(default_factory=dict)
    _ports: dict[int, list[Container]] = field(default_factory=dict)
    _cards: dict[str, list[Container]] = field(default_factory=dict)
    _names: dict[str, Container] = field(default_factory=dict)
    _listeners: dict[int, list[Listener]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sort the containers and listeners once."""
        rig = self.situation.resolved.rig.name
        for container in self.containers:
            self._names[container.name] = container
            if container.identity and container.identity.rig == rig:
                self._mine.setdefault(container.identity.instance, []).append(container)
            if container.running:
                for port in container.host_ports:
                    self._ports.setdefault(port, []).append(container)
                for uuid in container.identity.gpus if container.identity else ():
                    self._cards.setdefault(uuid, []).append(container)
        listeners = self.situation.observed.listeners
        for listener in listeners.value if isinstance(listeners, Known) else ():
            self._listeners.setdefault(listener.port, []).append(listener)

    @property
    def containers(self) -> tuple[Container, ...]:
        """Every container that was seen."""
        seen = self.situation.observed.containers
        return seen.value if isinstance(seen, Known) else ()

    @property
    def now(self) -> float:
        """Monotonic seconds."""
        return self.situation.now.mono

    def of(self, instance: str) -> tuple[Container, ...]:
        """Our containers of an instance, newest generation first."""
        return tuple(sorted(self._mine.get(instance, ()), key=_generation, reverse=True))

    def orphans(self) -> tuple[str, ...]:
        """Names of instances that have containers and are not desired any more, sorted."""
        desired = {instance.name for instance in self.situation.resolved.instances}
        return tuple(sorted(set(self._mine) - desired))

    def named(self, name: str) -> Container | None:
        """Whoever holds a container name."""
        return self._names.get(name)

    def wants_running(self, instance: ResolvedInstance) -> bool:
        """Whether the file wants it running and no person's stop is in force."""
        return instance.state is RunState.RUNNING and not self.override_text(instance.name)

    def override_text(self, instance: str) -> str:
        """The stop or down in force, as text; empty when there is none or it has expired."""
        override = self.situation.memory.overrides.get(instance)
        if override is None or (override.until is not None and override.until <= self.situation.now.wall):
            return ""
        return f"{override.verb} by {override.who or 'somebody'}" + (f": {override.reason}" if override.reason else "")

    def match(self, instance: ResolvedInstance) -> Container | None:
        """The container of the wanted spec: one that runs before one that does not, then the newest."""
        fitting = [c for c in self.of(instance.name) if c.identity and instance.is_spec_of(c.identity)]
        usable = [c for c in fitting if c.state not in (ContainerState.DEAD, ContainerState.REMOVING)]
        return next((c for c in usable if c.running), usable[0] if usable else None)

    def failure(self, instance: ResolvedInstance) -> Failure | None:
        """The recorded failure of the wanted spec."""
        return self.situation.memory.failures.get((instance.name, instance.spec_hash))

    def ready(self, container: Container) -> bool:
        """Whether the container reached readiness (it may be missing probes since)."""
        track = self.situation.tracks.get(container.id)
        return container.running and track is not None and track.ready_at is not None

    def serving(self, container: Container) -> bool:
        """Whether it answers now."""
        track = self.situation.tracks.get(container.id)
        return self.ready(container) and track is not None and track.serving

    def port_holder(self, port: int, bind: str, instance: str) -> tuple[str, Container | None]:
        """Who else holds a port: a text for people, and the container when it is one."""
        for container in self._ports.get(port, ()):
            if container.identity is None or container.identity.instance != instance or not self._is_ours(container):
                return f"port {port} is held by container {container.name} ({container.short_id})", container
            return "", None
        for listener in self._listeners.get(port, ()):
            if bind in WILDCARDS or listener.address in WILDCARDS or listener.address == bind:
                return f"port {port} is held by {_process(listener)}", None
        return "", None

    def card_holders(self, uuids: Iterable[str], instance: str) -> tuple[Container, ...]:
        """Running containers of other instances on any of the cards."""
        found = {c.id: c for uuid in uuids for c in self._cards.get(uuid, ()) if c.identity and c.identity.instance != instance}
        return tuple(sorted(found.values(), key=lambda c: c.name))

    def _is_ours(self, container: Container) -> bool:
        return container.identity is not None and container.identity.rig == self.situation.resolved.rig.name


def cards_unknown(view: View) -> str:
    """Why the cards could not be read; empty when they were."""
    cards = view.situation.observed.cards.cards
    return cards.reason if isinstance(cards, Unknown) else ""


def _generation(container: Container) -> tuple[int, float]:
    return (container.identity.generation if container.identity else 0, container.created_at or 0.0)


def _process(listener: Listener) -> str:
    if listener.pid is None:
        return f"a process that listens on {listener.address} (its pid is not readable)"
    return f"pid {listener.pid} ({listener.process or 'unknown process'}) on {listener.address}"
