"""The JSON document of `steward topology`. Pure: what is not known is null, and a card says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card, RigFacts
from controller.solver.topology import advice, topology_of
from observability.cards import foreign_bytes, known


class TopologyCardDocument(TypedDict):
    """One card; `profile` is null where none describes it, `nvlink` holds the indices of the cards that it is linked with."""

    index: int
    uuid: str
    name: str
    profile: str | None
    memory_total_bytes: int | None
    memory_used_bytes: int | None
    memory_foreign_bytes: int | None
    compute_capability: float | None
    pcie_generation: int | None
    pcie_lanes: int | None
    pcie_max_generation: int | None
    pcie_max_lanes: int | None
    nvlink: list[int]
    power_limit_watts: float | None
    unknown: dict[str, str]


class TopologyDocument(TypedDict):
    """The rig; `topology` is null, and `unknown` says why, where the cards cannot be compared or read."""

    rig: str
    driver: str | None
    cuda: str | None
    topology: str | None
    unknown: str
    advice: list[str]
    nvlink: list[list[int]]
    notes: list[str]
    gpus: list[TopologyCardDocument]


def topology_document(facts: RigFacts, profiles: Mapping[str, str], rig: str) -> TopologyDocument:
    """The rig as JSON; `profiles` are the ids of the cards' profiles by UUID."""
    cards: Sequence[Card] = facts.cards.value if isinstance(facts.cards, Known) else ()
    found = facts.cards if isinstance(facts.cards, Unknown) else topology_of(cards)
    return {
        "rig": rig,
        "driver": known(facts.driver),
        "cuda": known(facts.cuda),
        "topology": found.value.value if isinstance(found, Known) else None,
        "unknown": found.reason if isinstance(found, Unknown) else "",
        "advice": list(advice(found.value, cards, facts.nvlink)) if isinstance(found, Known) else [],
        "nvlink": [list(pair) for pair in facts.nvlink],
        "notes": list(facts.notes),
        "gpus": [_card(card, facts, profiles.get(card.uuid)) for card in cards],
    }


def _card(card: Card, facts: RigFacts, profile: str | None) -> TopologyCardDocument:
    return {
        "index": card.index,
        "uuid": card.uuid,
        "name": card.name,
        "profile": profile,
        "memory_total_bytes": known(card.memory_total),
        "memory_used_bytes": known(card.memory_used),
        "memory_foreign_bytes": foreign_bytes(card),
        "compute_capability": known(card.compute_capability),
        "pcie_generation": known(card.pcie_generation),
        "pcie_lanes": known(card.pcie_width),
        "pcie_max_generation": known(card.pcie_max_generation),
        "pcie_max_lanes": known(card.pcie_max_width),
        "nvlink": sorted({end for pair in facts.nvlink if card.index in pair for end in pair} - {card.index}),
        "power_limit_watts": known(card.power_limit_watts),
        "unknown": _reasons(card),
    }


def _reasons(card: Card) -> dict[str, str]:
    readings: Mapping[str, Reading[object]] = {
        "memory_total_bytes": card.memory_total,
        "memory_used_bytes": card.memory_used,
        "compute_capability": card.compute_capability,
        "pcie_generation": card.pcie_generation,
        "pcie_lanes": card.pcie_width,
        "pcie_max_generation": card.pcie_max_generation,
        "pcie_max_lanes": card.pcie_max_width,
        "power_limit_watts": card.power_limit_watts,
    }
    return {name: reading.reason for name, reading in readings.items() if isinstance(reading, Unknown)}
