"""`steward overlays list` for a terminal: a row for each overlay. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from controller.resolve.overlay_builds import Need, OverlayNeed
from observability.overlays import FileState, OverlayLine
from observability.text.cells import UNKNOWN, Cell, Color, clean, table
from observability.text.units import count

_SHOWN = 2
_NEEDS = {Need.REDUNDANT: Color.WARN, Need.UNKNOWN: Color.WARN}
_FILES = {FileState.MISSING: Color.WARN, FileState.UNAVAILABLE: Color.WARN}


def overlays_text(lines: Sequence[OverlayLine], *, width: int, color: bool) -> str:
    """A table; the columns of one build where one was asked about, else of the instances."""
    if not lines:
        return "no overlay concerns it\n"
    changed = [line for line in lines if line.with_image]
    heads = ["OVERLAY", "ON", "NEED", *(["WITH THE IMAGE"] if changed else []), "DROPPABLE SINCE", "FILES", "BLOCKED ON"]
    rows = [[Cell(head, Color.BOLD) for head in heads], *(_row(line, with_image=bool(changed)) for line in lines)]
    text = table(rows, width, color=color)
    return "\n".join([*text, *_summary(changed)]) + "\n"


def _row(line: OverlayLine, *, with_image: bool) -> list[Cell]:
    return [
        Cell(line.id),
        Cell(_few(line.active)),
        _need(tuple(line.needs.values())),
        *([_need((line.with_image,) if line.with_image else ())] if with_image else []),
        Cell(line.droppable_since or UNKNOWN),
        Cell(line.files.value, _FILES.get(line.files, Color.NONE)),
        Cell(_few(line.blocked_on)),
    ]


def _need(needs: Sequence[OverlayNeed]) -> Cell:
    """The verdicts of all builds, each once."""
    words = list(dict.fromkeys(need.need for need in needs))
    color = next((_NEEDS[word] for word in words if word in _NEEDS), Color.NONE)
    return Cell(", ".join(word.value for word in words) or UNKNOWN, color)


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(clean(name) for name in names[:_SHOWN])
    return (f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown) or UNKNOWN


def _summary(changed: Sequence[OverlayLine]) -> list[str]:
    """What the image changes, in words."""
    if not changed:
        return []
    told = [line for line in changed if line.with_image and line.with_image not in line.needs.values()]
    lines = [f"{line.id}: {line.with_image.need.value} ({line.with_image.why})" for line in told if line.with_image]
    return ["", f"the image changes {count(len(told), 'overlay')}", *(f"  {clean(text)}" for text in lines)]
