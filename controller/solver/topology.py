"""How alike the cards of a rig are, and what suits such a rig."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card

APART: Final = 10**9
"""Bytes: cards whose totals differ by more have unequal memory. Firmware and ECC make less of a difference among equals."""


class Topology(StrEnum):
    """By memory (totals more than 1.0 GB apart are unequal) and by compute capability."""

    SINGLE = "single"
    HOMOGENEOUS = "homogeneous"
    VRAM_MATCHED_COMPUTE_MISMATCHED = "vram_matched_compute_mismatched"
    VRAM_MISMATCHED = "vram_mismatched"
    HETEROGENEOUS_MIXED = "heterogeneous_mixed"


def topology_of(cards: Sequence[Card]) -> Reading[Topology]:
    """The class of a rig, or of the cards of one instance; Unknown where there is no card, or one of several cannot be read."""
    if not cards:
        return Unknown("there is no card")
    if len(cards) == 1:
        return Known(Topology.SINGLE)
    totals, capabilities = [], set()
    for card in cards:
        if isinstance(card.memory_total, Unknown):
            return Unknown(f"memory of card {card.index}: {card.memory_total.reason}")
        if isinstance(card.compute_capability, Unknown):
            return Unknown(f"compute capability of card {card.index}: {card.compute_capability.reason}")
        totals.append(card.memory_total.value)
        capabilities.add(card.compute_capability.value)
    return Known(_class(len(memory_clusters(totals)) == 1, len(capabilities) == 1))


def _class(equal_memory: bool, equal_compute: bool) -> Topology:
    if equal_memory:
        return Topology.HOMOGENEOUS if equal_compute else Topology.VRAM_MATCHED_COMPUTE_MISMATCHED
    return Topology.VRAM_MISMATCHED if equal_compute else Topology.HETEROGENEOUS_MIXED


def memory_clusters(totals: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    """Totals in bytes, sorted, with a new cluster wherever two neighbours are more than `APART` from each other."""
    clusters: list[list[int]] = []
    for total in sorted(totals):
        if clusters and total - clusters[-1][-1] <= APART:
            clusters[-1].append(total)
        else:
            clusters.append([total])
    return tuple(map(tuple, clusters))


def advice(topology: Topology, cards: Sequence[Card], links: Sequence[tuple[int, int]]) -> Iterator[str]:
    """What suits these cards: a remark on the class, then on NVLink and on cards whose slot is narrower than they are."""
    yield ADVICE[topology]
    if links:
        pairs = ", ".join(f"{one}+{two}" for one, two in sorted(links)[:_PAIRS])
        more = f" and {len(links) - _PAIRS} more" if len(links) > _PAIRS else ""
        yield f"NVLink joins {pairs}{more}: `gpus: {{count: 2, nvlink: require}}` gives an instance a whole pair."
    narrow = [str(card.index) for card in cards if _is_narrow(card)]
    if narrow and len(cards) > 1:
        have, sit = ("card", "has") if len(narrow) == 1 else ("cards", "have")
        yield (
            f"On the PCIe bus {have} {', '.join(narrow)} {sit} fewer lanes than the card could use: "
            "tensor parallelism and loading are slower there."
        )


def _is_narrow(card: Card) -> bool:
    """The generation is no sign: a card that idles lowers it."""
    lanes, most = card.pcie_width, card.pcie_max_width
    return isinstance(lanes, Known) and isinstance(most, Known) and lanes.value < most.value


_PAIRS: Final = 8
"""NVLink pairs that one remark names."""

ADVICE: Final = {
    Topology.SINGLE: "One card: an instance has it alone, or several with `share: true` whose memory fits together.",
    Topology.HOMOGENEOUS: "All cards are equal: tensor parallelism over any of them wastes nothing.",
    Topology.VRAM_MATCHED_COMPUTE_MISMATCHED: (
        "Equal memory, unequal compute capability: over such cards an engine has the speed and the formats of the oldest one. "
        "`gpus: {count: N, same: true}` keeps an instance on cards of one type."
    ),
    Topology.VRAM_MISMATCHED: (
        "Unequal memory: tensor parallelism takes from each card only what the smallest one has. "
        "Give an instance cards of one type (`same: true`), or let llama.cpp divide the layers by memory (`tensor_split`)."
    ),
    Topology.HETEROGENEOUS_MIXED: (
        "Unequal memory and unequal compute capability: tensor parallelism over such cards wastes memory and speed. "
        "Give an instance cards of one type (`same: true`), or let llama.cpp divide the layers by memory (`tensor_split`)."
    ),
}
"""What suits each class, in one or two sentences."""
