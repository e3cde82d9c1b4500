"""Placement: what a count is given, what is kept, and what is not touched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.model.problem import Severity
from controller.model.profile import HardwareProfile
from controller.model.reading import Known, Unknown
from controller.model.rig import NOT_READ, RigFacts
from controller.solver import Placement, Tenant, place
from controller.solver.placement_search import STEPS
from tests.unit.placing import GIB, card, count, rig, tenant


def indices(placed: Placement) -> dict[str, list[int]]:
    """The cards of each instance by index."""
    return {name: [int(uuid[-1]) for uuid in uuids] for name, uuids in placed.cards.items()}


def test_lists_go_before_counts_whatever_the_order() -> None:
    """Given a count before a list, when they are placed, then the count yields."""
    placed = place([tenant("a", count(1)), tenant("b", (0,))], rig("3090 3090"))
    assert indices(placed) == {"b": [0], "a": [1]}
    assert placed.findings == ()


def test_a_stopped_count_has_no_cards_before_it_runs() -> None:
    """Given a stopped count, when it is placed, then it takes no card and keeps nobody from one."""
    stopped = tenant("a", count(1), running=False)
    assert indices(place([stopped, tenant("b", count(1))], rig("3090"))) == {"b": [0]}
    kept = replace(stopped, kept=("GPU-0000",))
    assert indices(place([kept, tenant("b", count(1))], rig("3090"))) == {"a": [0], "b": [0]}


def test_the_cards_of_a_stopped_instance_are_left_where_others_are_as_good() -> None:
    """Given a stopped instance with a card, when another is placed, then it takes an equal card, but no larger one."""
    stopped = tenant("old", (0,), running=False)
    assert indices(place([stopped, tenant("a", count(1))], rig("3090 3090")))["a"] == [1]
    assert indices(place([stopped, tenant("a", count(1))], rig("3090 5090")))["a"] == [0]


def test_unknown_cards_bind_nothing_new() -> None:
    """Given unreadable cards, when instances are placed, then only those without cards and those bound before are bound."""
    everyone = [tenant("a", ()), tenant("b", (0,)), tenant("c", count(1)), tenant("d", count(1), kept=("GPU-0007",))]
    placed = place(everyone, RigFacts(Unknown("no driver")))
    assert (placed.cards, placed.findings) == ({"a": (), "d": ("GPU-0007",)}, ())


def test_a_rig_without_cards_says_so() -> None:
    """Given no card, when one is wanted, then the hint does not speak of indices."""
    assert place([tenant("a", (0,))], rig("")).findings[0].hint == "the rig has no card"
    assert place([tenant("a", (1,))], rig("3090")).findings[0].hint == "the rig has card 0"


def test_a_binding_stays_when_its_card_has_left() -> None:
    """Given a kept card that the rig does not have, when instances are placed, then it stays bound with a warning."""
    gone, other = tenant("a", count(1), kept=("GPU-0009",)), tenant("b", count(1))
    placed = place([gone, other], rig("3090"))
    assert placed.cards == {"a": ("GPU-0009",), "b": ("GPU-0000",)}
    assert [(f.instance, f.severity, f.message) for f in placed.findings] == [
        ("a", Severity.WARNING, "GPU-0009, which it was given, is not on this rig")
    ]
    assert place([replace(gone, running=False)], rig("3090")).findings == ()


@pytest.mark.parametrize("order", [1, -1])
def test_nobody_takes_what_another_cannot_do_without(order: int) -> None:
    """Given an instance that fits one card alone, when a modest one is placed too, then that takes another, in any order."""
    both = [tenant("modest", count(1)), tenant("large", count(1), min_vram_bytes=32 * GIB)]
    assert indices(place(both[::order], rig("5090 3090"))) == {"modest": [1], "large": [0]}
    both = [tenant("modest", count(2)), tenant("linked", count(2, "require"))]
    assert indices(place(both[::order], rig("3090 3090 3090 3090", (0, 2)))) == {"modest": [1, 3], "linked": [0, 2]}


@pytest.mark.parametrize(
    ("models", "wish", "expected"),
    [
        ("5090 3090 4090", tenant("a", count(1)), [1]),
        ("3080 3090 5090", tenant("a", count(1), min_vram_bytes=24 * GIB), [1]),
        ("3080 3090 5090", tenant("a", count(1), min_compute_capability=8.9), [2]),
        ("3080 3090 5090 3090", tenant("a", count(2)), [1, 3]),
        ("3080 3090 5090 5090", tenant("a", count(2), tensor=2), [2, 3]),
        ("3090 4090 5090", tenant("a", count(2), tensor=2), [0, 1]),
        ("3090 5090 3090 5090", tenant("a", count(2, same=True)), [0, 2]),
        ("3080 3090 5090", tenant("a", count(2)), [0, 1]),
    ],
)
def test_the_best_fit(models: str, wish: Tenant, expected: list[int]) -> None:
    """Given cards of several types, when a count is placed, then it has equal cards, and of these the smallest that do."""
    assert indices(place([wish], rig(models))) == {"a": expected}


def test_pairs_are_whole_for_those_who_want_them() -> None:
    """Given two pairs and a lone card, when counts are placed, then links are met, left alone, or missed without harm."""
    facts = rig("3090 3090 3090 3090 3090", (3, 4), (0, 1))
    assert indices(place([tenant("a", count(4, "require"))], facts)) == {"a": [0, 1, 3, 4]}
    assert place([tenant("a", count(3, "require"))], facts).findings[0].rule == "E1"
    assert indices(place([tenant("a", count(1))], facts)) == {"a": [2]}
    assert indices(place([tenant("a", count(3, "prefer"))], facts)) == {"a": [0, 1, 2]}
    taken = tenant("b", (0, 4))
    assert indices(place([taken, tenant("a", count(2, "prefer"))], facts))["a"] == [1, 2]
    assert indices(place([taken, tenant("a", count(2), needs_nvlink=True)], facts))["a"] == [1, 2]


def test_two_on_a_broken_pair_are_better_than_two_broken_pairs() -> None:
    """Given an instance on one half of a pair, when another is placed, then the other half is as good as a lone card."""
    able = tenant("able", count(1), min_compute_capability=8.9)
    assert indices(place([able, tenant("b", count(1))], rig("4090 3090 3090", (0, 1)))) == {"able": [0], "b": [1]}


def test_fully_linked_cards_are_pairs_too() -> None:
    """Given cards that are all linked with each other, when four are wanted, then any whole pairs do."""
    links = tuple((one, two) for one in range(4) for two in range(one + 1, 4))
    assert indices(place([tenant("a", count(4, "require"))], rig("3090 3090 3090 3090", *links))) == {"a": [0, 1, 2, 3]}


def test_side_by_side_only_where_it_is_needed() -> None:
    """Given a gap among the free cards, when two are wanted, then only a template that needs it has neighbours."""
    everyone = [tenant("b", (1,)), tenant("a", count(2))]
    assert indices(place(everyone, rig("3090 3090 3090 3090")))["a"] == [0, 2]
    everyone[1] = replace(everyone[1], contiguous=True)
    assert indices(place(everyone, rig("3090 3090 3090 3090")))["a"] == [2, 3]


def test_instances_that_share_stand_together_where_their_memory_is_known() -> None:
    """Given instances that share, when their needs are known, then they save a card; when not, each has its own if it can."""
    known = [tenant(name, count(1), exclusive=False, min_vram_bytes=4 * GIB) for name in ("a", "b")]
    assert indices(place(known, rig("3090 3090"))) == {"a": [0], "b": [0]}
    large = [replace(one, min_vram_bytes=16 * GIB) for one in known]
    assert indices(place(large, rig("3090 3090"))) == {"a": [0], "b": [1]}
    assert [f.instance for f in place(large, rig("3090")).findings] == ["b"]
    unknown = [replace(one, min_vram_bytes=None) for one in known]
    assert indices(place(unknown, rig("3090 3090"))) == {"a": [0], "b": [1]}
    assert indices(place(unknown, rig("3090"))) == {"a": [0], "b": [0]}
    assert indices(place([tenant("c", (0,)), *known], rig("3090 3090")))["a"] == [1]


def test_what_is_not_sure_comes_last() -> None:
    """Given cards that are lost, unread or used by others, when a count is placed, then it takes them for want of others."""
    wish = tenant("a", count(1), min_vram_bytes=24 * GIB)
    sound = card(1, "5090")
    for doubtful in (
        card(0, "3090", healthy=Known(False)),
        card(0, "3090", memory_total=NOT_READ),
        card(0, "3090", foreign_bytes=2 * GIB),
    ):
        assert indices(place([wish], RigFacts(Known((doubtful, sound))))) == {"a": [1]}
        assert indices(place([wish], RigFacts(Known((doubtful,))))) == {"a": [0]}
    able = tenant("a", count(1), min_compute_capability=8.6)
    unread = card(0, "3090", compute_capability=NOT_READ)
    assert indices(place([able], RigFacts(Known((unread, sound))))) == {"a": [1]}
    assert indices(place([able], RigFacts(Known((unread,))))) == {"a": [0]}


def test_a_profile_says_what_the_driver_does_not() -> None:
    """Given a card with its profile, when memory and capability are needed, then those of the profile count."""
    ecc = HardwareProfile(id="l40s", name="L40S", memory_gib=48, compute_capability=8.9)
    facts = RigFacts(Known((card(0, "3090", memory_total=Known(int(44.42 * GIB)), compute_capability=NOT_READ),)))
    wish = tenant("a", count(1), min_vram_bytes=48 * GIB, min_compute_capability=8.9)
    assert place([wish], facts).findings
    assert indices(place([wish], facts, {"GPU-0000": ecc})) == {"a": [0]}


def test_ties_go_by_the_file() -> None:
    """Given equal cards and equal instances, when they are placed, then the first in the file has the lowest cards."""
    three = [tenant(name, count(1)) for name in ("c", "a", "b")]
    assert indices(place(three, rig("3090 3090 3090"))) == {"c": [0], "a": [1], "b": [2]}


def test_a_search_that_is_too_long_says_so() -> None:
    """Given eight instances of eight kinds on unequal cards, when the bound is met, then there is a placement and a note."""
    needs = [4, 5, 6, 7, 8, 9, None, None]
    everyone = [
        tenant(
            f"i{n}",
            count(1),
            min_vram_bytes=need and need * GIB,
            exclusive=n % 3 != 1,
            min_compute_capability=n % 2 * 8.0 or None,
        )
        for n, need in enumerate(needs)
    ]
    links = tuple((one, two) for one in range(8) for two in range(one + 1, 8))
    placed = place(everyone, rig("3080 3090 4090 5090 3080 3090 4090 5090", *links))
    assert len(placed.cards) == 8
    assert [(f.severity, f.hint) for f in placed.findings] == [(Severity.INFO, "name the cards of some of them")]
    assert f"after {STEPS} tries" in placed.findings[0].message


def test_a_large_rig_is_served_first_come_first_served() -> None:
    """Given nine cards, when counts are placed, then each takes the first that fit, of one type and in pairs where it can."""
    facts = rig("3090 5090 3090 5090 3090 3090 3090 3090 3090", (4, 5))
    everyone = [
        tenant("linked", count(2, "require")),
        tenant("equal", count(2, same=True)),
        tenant("large", count(1), min_vram_bytes=32 * GIB),
        tenant("many", count(4)),
        tenant("more", count(1)),
    ]
    placed = place(everyone, facts)
    assert indices(placed) == {"linked": [4, 5], "equal": [0, 2], "large": [1], "many": [3, 6, 7, 8]}
    assert placed.reasons["equal"] == "cards 0, 2: the first that fit"
    assert [f.instance for f in placed.findings] == ["more"]


def test_more_instances_than_are_searched_for_are_served_in_turn() -> None:
    """Given a crowd on a small rig, when it is placed, then the first ones have the cards and each other one is told."""
    crowd = [tenant(f"i{n}", count(1)) for n in range(40)]
    placed = place(crowd, rig("3090 3090"))
    assert indices(placed) == {"i0": [0], "i1": [1]}
    assert len(placed.findings) == 38
