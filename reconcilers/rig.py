"""All kinds behind the one Protocol that the loop knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.model.moment import Instant
from controller.model.observed import Container, Listener, Observed
from controller.model.plan import Action, Plan, Step
from controller.model.reading import Known, Reading
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.model.situation import Situation
from controller.model.track import Memory
from controller.ports import (
    ContainerEvents,
    ContainerLogs,
    Containers,
    GpuProbe,
    Host,
    Images,
    Outcome,
    Payloads,
    Secrets,
    TextSearch,
)
from controller.settings import Bounds
from reconcilers.artifacts.act import ArtifactActor
from reconcilers.artifacts.observe import observe_images, observe_payloads
from reconcilers.engines.act import EngineActor
from reconcilers.engines.observe import EngineObserver
from reconcilers.rig_plan import rig_plan


@dataclass(frozen=True, slots=True)
class World:
    """The ports that the kinds need."""

    containers: Containers
    images: Images
    logs: ContainerLogs
    events: ContainerEvents
    gpus: GpuProbe
    host: Host
    secrets: Secrets
    payloads: Payloads
    texts: TextSearch


class RigReconcilers:
    """Implements ports.Reconcilers over one World."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        """Nothing is read yet."""
        self._world = world
        self._bounds = bounds
        self._engines = EngineObserver(world.containers, world.logs, world.events, bounds.log_tail_lines)
        self._engine_actor = EngineActor(world.containers, world.secrets, world.payloads)
        self._artifact_actor = ArtifactActor(world.images, world.payloads)

    def cards(self) -> RigFacts:
        """The cards now."""
        return self._world.gpus.read()

    def containers(self) -> Reading[tuple[Container, ...]]:
        """The engine's containers alone."""
        return self._engines.list()

    def observe(self, resolved: Resolved, memory: Memory, cards: RigFacts, now: Instant) -> Observed:
        """One snapshot. Listeners are read after the containers, so that a port that was just freed does not seem held."""
        containers = self._engines.list()
        if not isinstance(containers, Known):
            return Observed(now, containers, cards=cards)
        ours = Observed(now, containers).ours(resolved.rig.name)
        return Observed(
            at=now,
            containers=containers,
            images=observe_images(self._world.images, resolved, memory, ours),
            cards=cards,
            listeners=self._listeners(resolved, ours),
            logs=self._engines.tails(resolved, memory, ours),
            hand_signals=self._engines.hand_signals(resolved, memory, ours),
            payloads=observe_payloads(self._world.payloads, resolved, ours),
        )

    def _listeners(self, resolved: Resolved, ours: tuple[Container, ...]) -> Reading[tuple[Listener, ...]]:
        """Who listens; asked only when something is to be started, because it walks through every process."""
        running = {(c.identity.instance, c.identity.spec_hash) for c in ours if c.identity and c.running}
        if all((i.name, i.spec_hash) in running for i in resolved.instances):
            return Known(())
        return self._world.host.listeners()

    def progress(self) -> Mapping[str, str]:
        """The latest sentence of each pull under way."""
        return dict(self._artifact_actor.progress)

    def plan(self, situation: Situation) -> Plan:
        """What is left to do."""
        return rig_plan(situation, self._bounds.drift_grace)

    def act(self, step: Step) -> Outcome:
        """The effect of one step."""
        if step.action is Action.PULL:
            return self._artifact_actor.pull(step)
        return self._engine_actor.act(step)
