"""What registries say of the images that engine profiles name: as values and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

from controller.model.profile_engine import AvailabilityState


@dataclass(frozen=True, slots=True)
class ImageLine:
    """One image and the engine profiles that name it: what the first of them records, and what was seen on a day.

    `why` is the reason of an unknown state.
    """

    engines: tuple[str, ...]
    image: str
    recorded: AvailabilityState
    recorded_on: str | None
    seen: AvailabilityState
    seen_on: str
    why: str = ""

    @property
    def differs(self) -> bool:
        """Whether the record says something else than what was clearly seen."""
        return self.seen is not AvailabilityState.UNKNOWN and self.seen is not self.recorded


class ImageDocument(TypedDict):
    """One image."""

    engines: list[str]
    image: str
    state: str
    as_of: str
    why: str
    recorded: str
    recorded_as_of: str | None


def image_documents(lines: Iterable[ImageLine]) -> list[ImageDocument]:
    """The lines as JSON."""
    return [
        {
            "engines": list(line.engines),
            "image": line.image,
            "state": line.seen.value,
            "as_of": line.seen_on,
            "why": line.why,
            "recorded": line.recorded.value,
            "recorded_as_of": line.recorded_on,
        }
        for line in lines
    ]
