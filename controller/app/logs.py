"""What an instance's engine prints, for people: which container they mean, and its last lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from controller.app.files import without_cards
from controller.app.naming import check_names
from controller.app.rig_name import rig_name_of
from controller.errors import NotFound
from controller.model.observed import Container, LogExcerpt
from controller.settings import Settings
from reconcilers.rig import World


@dataclass(frozen=True, slots=True)
class LogBook:
    """Reads logs straight from the container engine."""

    settings: Settings
    world: World

    def read(self, name: str, lines: int, previous: bool) -> LogExcerpt:
        """The last lines of the instance's container; with `previous` of the one before.

        Raises UsageError for an unknown name, NotFound without such a container, or an EnvironmentFault.
        """
        mine = self._containers(name)
        if previous and len(mine) < 2:
            raise NotFound(f"{name} has no earlier container")
        container = mine[1] if previous else mine[0]
        return LogExcerpt(container.id, container.name, self.world.logs.tail(container.id, lines).lines)

    def _containers(self, name: str) -> list[Container]:
        """The instance's containers: a running one first, then the newest."""
        rig = rig_name_of(self.settings)
        ours = [(c, c.identity) for c in self.world.containers.list() if c.identity and c.identity.rig == rig]
        mine = [(c.running, identity.generation, c) for c, identity in ours if identity.instance == name]
        if not mine:
            self._explain(name, {identity.instance for _, identity in ours})
        return [c for *_, c in sorted(mine, key=lambda row: row[:2], reverse=True)]

    def _explain(self, name: str, running: set[str]) -> NoReturn:
        """Why there is no container."""
        estate = without_cards(self.settings)
        known = sorted(running | {i.name for i in (estate.instances if estate else ())})
        check_names([name], known)
        raise NotFound(f"{name} has no container; `steward status` says why")
