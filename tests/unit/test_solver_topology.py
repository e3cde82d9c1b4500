"""How alike cards are, how they pair up, and what suits them."""

from __future__ import annotations

from itertools import combinations

import pytest

from controller.model.reading import Known, Unknown
from controller.model.rig import NOT_READ
from controller.solver.links import in_whole_pairs, paired
from controller.solver.topology import APART, Topology, advice, memory_clusters, topology_of
from tests.unit.placing import GIB, card


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (["3090"], Topology.SINGLE),
        (["3090", "3090"], Topology.HOMOGENEOUS),
        (["3090", "4090"], Topology.VRAM_MATCHED_COMPUTE_MISMATCHED),
        (["3080", "3090"], Topology.VRAM_MISMATCHED),
        (["3090", "5090"], Topology.HETEROGENEOUS_MIXED),
        (["3090", "4090", "5090"], Topology.HETEROGENEOUS_MIXED),
    ],
)
def test_the_five_classes(models: list[str], expected: Topology) -> None:
    """Given cards, when they are compared by memory and compute capability, then each class is reached."""
    assert topology_of([card(index, model) for index, model in enumerate(models)]) == Known(expected)


def test_what_cannot_be_read_is_not_compared() -> None:
    """Given no card, or an unread one, when they are compared, then the reason is told; one card is single all the same."""
    assert topology_of([]) == Unknown("there is no card")
    unread = card(1, "3090", memory_total=NOT_READ), card(1, "3090", compute_capability=NOT_READ)
    assert topology_of([card(0, "3090"), unread[0]]) == Unknown(f"memory of card 1: {NOT_READ.reason}")
    assert topology_of([card(0, "3090"), unread[1]]) == Unknown(f"compute capability of card 1: {NOT_READ.reason}")
    assert topology_of([unread[0]]) == Known(Topology.SINGLE)


def test_clusters_begin_more_than_a_gigabyte_apart() -> None:
    """Given totals, when neighbours are up to 1.0 GB apart, then they are one cluster, however far its ends are."""
    assert memory_clusters([24 * GIB + 2 * APART, 24 * GIB, 24 * GIB + APART]) == (
        (24 * GIB, 24 * GIB + APART, 24 * GIB + 2 * APART),
    )
    assert memory_clusters([24 * GIB + APART + 1, 24 * GIB]) == ((24 * GIB,), (24 * GIB + APART + 1,))
    assert memory_clusters([]) == ()


def test_advice_names_pairs_and_narrow_slots() -> None:
    """Given links and a card with fewer lanes than it could have, when advice is given, then both are named."""
    cards = [card(0, "3090"), card(1, "3090", pcie_width=Known(4), pcie_max_width=Known(16))]
    said = list(advice(Topology.HOMOGENEOUS, cards, [(0, 1)]))
    assert said == [
        "All cards are equal: tensor parallelism over any of them wastes nothing.",
        "NVLink joins 0+1: `gpus: {count: 2, nvlink: require}` gives an instance a whole pair.",
        "On the PCIe bus card 1 has fewer lanes than the card could use: tensor parallelism and loading are slower there.",
    ]
    many = list(advice(Topology.HOMOGENEOUS, cards, list(combinations(range(8), 2))))
    assert many[1].startswith("NVLink joins 0+1, 0+2, 0+3, 0+4, 0+5, 0+6, 0+7, 1+2 and 20 more: ")
    assert len(list(advice(Topology.SINGLE, cards[1:], []))) == 1


def test_every_class_has_advice() -> None:
    """Given any class, when advice is asked for, then there is some."""
    assert all(next(iter(advice(kind, [], []))) for kind in Topology)


def test_pairs_are_counted_as_by_hand() -> None:
    """Given every set of links among five cards, when they are paired, then it is the most that any disjoint links reach."""
    pairs = list(combinations(range(5), 2))
    for number in range(1 << len(pairs)):
        links = [pair for bit, pair in enumerate(pairs) if number >> bit & 1]
        two = any(not set(one) & set(other) for one, other in combinations(links, 2))
        assert paired(range(5), links) == (4 if two else 2 if links else 0)


def test_six_cards_may_need_the_second_partner() -> None:
    """Given links of which the first ones lead astray, when whole pairs are asked for, then they are found."""
    links = [(1, 0), (1, 2), (0, 3), (2, 5), (4, 5), (5, 5), (7, 8)]
    assert in_whole_pairs(range(6), links) == (paired(range(6), links) == 6)
    assert paired(range(6), links) == 6
    assert not in_whole_pairs([0, 2], links)
    assert in_whole_pairs([], links)


def test_a_large_crowd_is_paired_first_come_first_served() -> None:
    """Given more linked cards than are searched, when they are paired, then each takes its first free partner."""
    assert paired(range(64), list(combinations(range(64), 2))) == 64
    assert paired(range(40), [(one, one + 1) for one in range(0, 40, 2)]) == 40
