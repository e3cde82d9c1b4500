"""Looks once into each container that is ready whether its overlays are at work, on a worker's lane of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from controller.model.moment import Instant
from controller.model.observed import Container, ContainerState
from controller.model.payload import OverlayUse
from controller.model.reading import Known
from controller.model.resolved import ResolvedInstance
from controller.model.situation import Situation
from controller.model.track import Sighting
from controller.ports import Finished, TextSearch, Workers
from controller.rollout.overlay_standing import unseen
from controller.settings import Bounds

LANE: Final = "inspect/"


@dataclass(slots=True)
class Inspector:
    """Schedules the looks; one that failed is repeated after a pause."""

    texts: TextSearch
    workers: Workers
    bounds: Bounds
    _not_before: dict[str, float] = field(default_factory=dict)
    """Container id -> monotonic time of the next look, after one that failed."""
    _looking: set[str] = field(default_factory=set)

    def schedule(self, situation: Situation) -> float | None:
        """Begin the looks that are due; when (monotonic seconds) the next one will be."""
        due = [at for instance in situation.resolved.instances if (at := self._look(situation, instance)) is not None]
        return min(due, default=None)

    def is_looking(self) -> bool:
        """Whether a look is under way."""
        return bool(self._looking)

    def take(self, finished: Finished, now: Instant) -> tuple[Sighting, ...]:
        """What a look brought; nothing when it failed."""
        self._looking.discard(finished.key)
        if isinstance(finished.value, tuple):
            self._not_before.pop(finished.key, None)
            return finished.value
        self._not_before[finished.key] = now.mono + self.bounds.inspect_again
        return ()

    def _look(self, situation: Situation, instance: ResolvedInstance) -> float | None:
        container, uses = unseen(situation, instance)
        if container is None or not uses or container.state is not ContainerState.RUNNING:
            return None
        pause = self._not_before.get(container.id, 0.0)
        if pause > situation.now.mono:
            return pause
        look = partial(self._sightings, container, instance.name, uses)
        if self.workers.submit(LANE + container.id, container.id, look):
            self._looking.add(container.id)
        return None

    def _sightings(self, container: Container, instance: str, uses: tuple[OverlayUse, ...]) -> tuple[Sighting, ...]:
        return tuple(self._sighting(container, instance, use) for use in uses)

    def _sighting(self, container: Container, instance: str, use: OverlayUse) -> Sighting:
        sentinel = use.sentinel or ""
        found = self.texts.find_text(container.id, sentinel, use.files)
        if isinstance(found, Known):
            return Sighting(container.id, instance, use.id, sentinel, found.value)
        return Sighting(container.id, instance, use.id, sentinel, None, found.reason)
