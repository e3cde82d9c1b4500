"""`steward topology` as text: a row for each card, the class of the rig, and what suits it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from observability.text.cells import UNKNOWN, Cell, Color, clean, cut, paint, table, wrapped
from observability.text.units import count, gib
from observability.topology import TopologyCardDocument, TopologyDocument

HEADINGS: Final = ("GPU", "CARD", "PROFILE", "USED/TOTAL GiB", "FOREIGN", "CC", "PCIE NOW", "PCIE MAX", "NVLINK", "LIMIT")
NO_PROFILE: Final = "no profile"


def topology_text(document: TopologyDocument, *, width: int, color: bool) -> str:
    """The cards for a terminal of this width."""
    lines = [paint(cut(clean(_headline(document)), width), Color.BOLD, on=color)]
    if document["gpus"]:
        rows = [[Cell(text, Color.BOLD) for text in HEADINGS], *map(_row, document["gpus"])]
        lines += ["", *table(rows, width, color=color), ""]
    lines += [line for sentence in _sentences(document) for line in wrapped(clean(sentence), width)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _headline(document: TopologyDocument) -> str:
    parts = [count(len(document["gpus"]), "card")] if document["gpus"] else [document["unknown"]]
    parts += [f"driver {document['driver']}"] if document["driver"] else []
    parts += [f"CUDA {document['cuda']}"] if document["cuda"] else []
    return f"rig {document['rig']}: {', '.join(parts)}"


def _row(card: TopologyCardDocument) -> list[Cell]:
    limit = card["power_limit_watts"]
    return [
        Cell(str(card["index"])),
        Cell(clean(card["name"])),
        Cell(card["profile"]) if card["profile"] else Cell(NO_PROFILE, Color.WARN),
        Cell(f"{gib(card['memory_used_bytes'])}/{gib(card['memory_total_bytes'])}"),
        Cell(gib(card["memory_foreign_bytes"])),
        Cell(UNKNOWN if card["compute_capability"] is None else f"{card['compute_capability']:.1f}"),
        Cell(_link(card["pcie_generation"], card["pcie_lanes"])),
        Cell(_link(card["pcie_max_generation"], card["pcie_max_lanes"])),
        Cell(", ".join(map(str, card["nvlink"])) or UNKNOWN),
        Cell(UNKNOWN if limit is None else f"{limit:.0f} W"),
    ]


def _link(generation: int | None, lanes: int | None) -> str:
    """`gen 4 x16`."""
    if generation is None and lanes is None:
        return UNKNOWN
    return f"gen {UNKNOWN if generation is None else generation} x{UNKNOWN if lanes is None else lanes}"


def _sentences(document: TopologyDocument) -> Iterator[str]:
    if document["gpus"]:
        yield f"topology: {document['topology'] or 'not known, ' + document['unknown']}"
    yield from document["advice"]
    yield from (f"note: {note}" for note in document["notes"])
