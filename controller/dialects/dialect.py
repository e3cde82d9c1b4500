"""What Steward must know about an engine type: how to start it, how to ask it, how to read what it prints.

Dialects import what reads logs and metrics when it is first needed: to check an estate takes neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from controller.model.parameters import Value
from controller.model.profile import DialectName
from controller.model.resolved import Secretive

if TYPE_CHECKING:
    from controller.model.observed import EngineMetrics
    from controller.model.track import FaultClass


@dataclass(frozen=True, slots=True)
class Launch:
    """The input of an argv: checked parameters by name, all served names (the first is canonical), the port inside the
    container, the image reference as written (some flags exist only from a version on), and what comes after the parameters:
    the template's own command, upon which the parameter `extra_args` follows. The parameter `served_name` is already among
    the served names and is not looked at again.
    """

    parameters: Mapping[str, Value]
    served_names: tuple[str, ...]
    container_port: int
    image: str
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a boot failed: a CamelCase reason, one human sentence with the engine's own suggestion, and who is to blame."""

    reason: str
    message: str
    fault: FaultClass


@dataclass(frozen=True, slots=True)
class Endpoints:
    """HTTP paths of a ready engine; None where the dialect has none. `completion` gets an OpenAI completion request."""

    health: str | None
    models: str | None
    completion: str | None
    metrics: str | None


class Dialect(Protocol):
    """One engine type."""

    @property
    def name(self) -> DialectName:
        """Its name in profiles."""
        ...

    @property
    def endpoints(self) -> Endpoints:
        """Where to ask."""
        ...

    @property
    def supported(self) -> frozenset[str]:
        """The parameters that it can render; others are errors in `set`."""
        ...

    def missing(self, launch: Launch) -> tuple[str, ...]:
        """The parameters without which the engine would not know what to serve, and that no other flag stands in for."""
        ...

    def argv(self, launch: Launch) -> tuple[Secretive, ...]:
        """The arguments after the image's entrypoint, in a stable order."""
        ...

    def metrics(self, samples: Mapping[str, float]) -> EngineMetrics:
        """Steward's figures out of the engine's own (names summed over labels), across its renames."""
        ...

    def phase(self, lines: Sequence[str]) -> str:
        """The last boot phase that a log names, as a short phrase; empty when none is recognised."""
        ...

    def diagnose(self, lines: Sequence[str]) -> Diagnosis | None:
        """The reason that a log gives for a failed boot; a generic tail is never the reason; None when it gives none."""
        ...


__all__ = ["Diagnosis", "Dialect", "Endpoints", "Launch", "Value"]
