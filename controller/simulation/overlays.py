"""Overlays on a simulated rig: no file reaches a process, so that all are there and at work, but for what a test takes away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from controller.errors import StewardError
from controller.model.payload import Payload
from controller.model.reading import Known, Reading, Unknown


@dataclass(slots=True)
class SimulatedPayloads:
    """Implements ports.Payloads."""

    missing: set[str] = field(default_factory=set)
    """Keys of payloads that are not there; one that is put in place leaves it."""
    folder: str = "/var/lib/steward/overlays"

    def has(self, key: str) -> Reading[bool]:
        """Whether the payload of a key is there."""
        return Known(key not in self.missing)

    def put(self, payload: Payload) -> None:
        """From now on it is there."""
        self.missing.discard(payload.key)


@dataclass(slots=True)
class SimulatedTexts:
    """Implements ports.TextSearch from a table."""

    absent: set[str] = field(default_factory=set)
    """Texts that no container has."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Why a text cannot be looked for."""
    fails: StewardError | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Container and text of each look."""

    def find_text(self, container: str, text: str, files: Sequence[str]) -> Reading[bool]:
        """What the table says."""
        del files
        self.asked.append((container, text))
        if self.fails is not None:
            raise self.fails
        if reason := self.unreadable.get(text):
            return Unknown(reason)
        return Known(text not in self.absent)
