"""One container of a simulated engine, with what only the engine knows about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.model.observed import Container
from controller.model.profile import DialectName
from controller.simulation.engine.script import Script
from controller.simulation.process import End, Order, Process


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """One event in Docker's words."""

    at: float
    action: str
    container: str


@dataclass(frozen=True, slots=True)
class Leftover:
    """A run that had this card and is over since `ended_at` (Unix time), after `ran_s` seconds of its script. What it still
    holds is the cards' matter.
    """

    uuid: str
    pid: int
    name: str
    dialect: DialectName
    script: Script
    ran_s: float
    ended_at: float


@dataclass(slots=True)
class Cell:
    """One container with what only the engine knows about it; `process` is its latest run."""

    seen: Container
    bind: str = "127.0.0.1"
    gpus: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    argv: tuple[str, ...] = field(default=(), repr=False)
    dialect: DialectName = DialectName.SIMULATED
    process: Process | None = None
    end: End | None = None
    past_log: tuple[str, ...] = ()
    stopping: bool = False
    """Whether its end will be one that was asked for with a grace."""

    @property
    def name(self) -> str:
        """The container's name."""
        return self.seen.name

    @property
    def instance(self) -> str:
        """The instance that it belongs to; empty when it is foreign."""
        return self.seen.identity.instance if self.seen.identity else ""

    @property
    def script(self) -> Script:
        """What its latest run does."""
        return self.process.script if self.process is not None else Script()

    @property
    def started_at(self) -> float | None:
        """Unix time of the latest start."""
        return self.seen.started_at

    def log(self) -> tuple[str, ...]:
        """All that it has written so far, earlier runs included."""
        return (*self.past_log, *(self.process.log() if self.process is not None else ()))

    def age(self, wall: float) -> float:
        """Seconds since the latest start at this Unix time."""
        return 0.0 if self.started_at is None else wall - self.started_at

    def order(self, script: Script) -> Order:
        """What a start of it asks for."""
        return Order(
            name=self.name,
            instance=self.instance,
            dialect=self.dialect,
            argv=self.argv,
            env=self.env,
            bind=self.bind,
            port=self.seen.host_ports[0] if self.seen.host_ports else 0,
            script=script,
        )
