"""What runs inside a simulated container: the seam between the container engine's rules, which both layers share, and the
process, which is a script on a clock in memory (layer 1) or a real process with a real port (layer 2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controller.model.profile import DialectName
from controller.simulation.engine.script import Script


@dataclass(frozen=True, slots=True)
class Order:
    """What a start asks for. `script` is what the rig says of this instance; the container's own flags and variables win."""

    name: str
    instance: str = ""
    dialect: DialectName = DialectName.SIMULATED
    argv: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    bind: str = "127.0.0.1"
    port: int = 0
    script: Script = Script()


@dataclass(frozen=True, slots=True)
class End:
    """How a process ended; `at` is Unix time."""

    code: int
    at: float
    oom: bool = False


class Process(Protocol):
    """One run of one container."""

    @property
    def pid(self) -> int:
        """Its number; 0 when it never ran."""
        ...

    @property
    def script(self) -> Script:
        """As it holds for this run: the order's, overlaid by the container's flags and variables."""
        ...

    def ended(self) -> End | None:
        """How it ended, None while it runs."""
        ...

    def log(self) -> tuple[str, ...]:
        """All lines that it has written by now, both streams in order."""
        ...

    def stop(self, term_s: float) -> None:
        """TERM and, `term_s` later, KILL. Takes as long as that takes; never raises for a process that has ended."""
        ...

    def kill(self) -> None:
        """KILL."""
        ...

    def pause(self) -> None:
        """Freeze it."""
        ...

    def resume(self) -> None:
        """Let it run on."""
        ...

    def change(self, script: Script) -> None:
        """From now on it does this."""
        ...


class Processes(Protocol):
    """Starts processes."""

    def start(self, order: Order) -> Process:
        """Begin a run; raises PortTaken or SpecFault when that cannot be."""
        ...

    def wait(self, stopping: Callable[[], bool]) -> bool:
        """Wait a short while for something to happen; False where waiting is not how time passes here."""
        ...

    def spend(self, seconds: float) -> None:
        """Let the call that asks take this much longer."""
        ...

    def close(self) -> None:
        """End all of them."""
        ...
