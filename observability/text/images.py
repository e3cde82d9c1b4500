"""What registries say of images, as a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.model.profile_engine import AvailabilityState
from observability.images import ImageLine
from observability.text.cells import Cell, Color, clean, table

_COLORS: Final = {
    AvailabilityState.AVAILABLE: Color.GOOD,
    AvailabilityState.PURGED: Color.BAD,
    AvailabilityState.UNKNOWN: Color.WARN,
}
_HEADS: Final = ("STATE", "SEEN", "RECORDED", "ENGINES", "IMAGE", "WHY")


def images_text(lines: Sequence[ImageLine], *, width: int, color: bool) -> str:
    """A row for each image."""
    if not lines:
        return "no engine profile names an image\n"
    return "\n".join(table([[Cell(head, Color.BOLD) for head in _HEADS], *map(_row, lines)], width, color=color)) + "\n"


def _row(line: ImageLine) -> list[Cell]:
    recorded = line.recorded.value + (f" {line.recorded_on}" if line.recorded_on else "")
    return [
        Cell(line.seen.value, _COLORS[line.seen]),
        Cell(line.seen_on),
        Cell(recorded, Color.WARN if line.differs else Color.NONE),
        Cell(", ".join(line.engines)),
        Cell(line.image),
        Cell(clean(line.why)),
    ]
