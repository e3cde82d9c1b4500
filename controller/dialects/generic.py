"""Any other tenant of a card, an image UI for example: Steward starts and stops it and asks only whether it is ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.dialects.argv import last
from controller.dialects.dialect import Diagnosis, Endpoints, Launch
from controller.model.parameters import parameters_of
from controller.model.profile import DialectName
from controller.model.resolved import Secretive

if TYPE_CHECKING:
    from controller.model.observed import EngineMetrics


@dataclass(frozen=True, slots=True)
class Generic:
    """The dialect of a tenant that Steward knows nothing about; how it says that it is ready is in its template."""

    name: DialectName = DialectName.GENERIC
    endpoints: Endpoints = Endpoints(None, None, None, None)
    supported: frozenset[str] = parameters_of(DialectName.GENERIC)

    def missing(self, launch: Launch) -> tuple[str, ...]:
        """Nothing: the image knows what it serves."""
        del launch
        return ()

    def argv(self, launch: Launch) -> tuple[Secretive, ...]:
        """The template's own command and what the instance adds."""
        return last(launch)

    def metrics(self, samples: Mapping[str, float]) -> EngineMetrics:
        """Nothing is known of its metrics."""
        from controller.model.observed import EngineMetrics

        del samples
        return EngineMetrics()

    def phase(self, lines: Sequence[str]) -> str:
        """Nothing is known of its phases."""
        del lines
        return ""

    def diagnose(self, lines: Sequence[str]) -> Diagnosis | None:
        """A failure that any container can have, or the last exception."""
        from controller.dialects.boot_log import Tables, diagnosis
        from controller.dialects.common_failures import COMMON

        return diagnosis(Tables(common=COMMON), lines)
