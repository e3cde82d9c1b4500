"""First fit of counts over cards."""

from __future__ import annotations

from controller.model.desired import GpuCount
from controller.model.reading import Unknown
from controller.model.rig import RigFacts
from controller.solver import Tenant, check_rules, place
from tests.unit.resolving import cards


def tenant(name: str, wanted: tuple[int | str, ...] | GpuCount, *, running: bool = True, exclusive: bool = True) -> Tenant:
    """A claimant on a port of its own."""
    return Tenant(name, running, 8000 + len(name), wanted, exclusive, cpu=True)


def test_lists_go_before_counts_whatever_the_order() -> None:
    """Given a count before a list, when they are placed, then the count yields."""
    placed = place([tenant("a", GpuCount(count=1)), tenant("bb", (0,))], cards(2))
    assert placed.cards == {"bb": ("GPU-0000",), "a": ("GPU-0001",)}
    assert placed.findings == ()


def test_running_counts_go_before_stopped_ones() -> None:
    """Given a stopped count before a running one, when there is one card, then the running one has it."""
    placed = place([tenant("a", GpuCount(count=1), running=False), tenant("bb", GpuCount(count=1))], cards(1))
    assert placed.cards == {"bb": ("GPU-0000",)}


def test_a_stopped_count_does_not_claim() -> None:
    """Given stopped counts alone, when they are placed, then they may stand on the same card."""
    both = [tenant(name, GpuCount(count=1), running=False) for name in ("a", "bb")]
    assert place(both, cards(1)).cards == {"a": ("GPU-0000",), "bb": ("GPU-0000",)}


def test_four_linked_cards_are_two_pairs() -> None:
    """Given two pairs and a lone card, when four linked cards are wanted, then both pairs are taken; three are impossible."""
    facts = cards(5, nvlink=((4, 3), (0, 1)))
    placed = place([tenant("a", GpuCount(count=4, nvlink="require"))], facts)
    assert placed.cards == {"a": ("GPU-0000", "GPU-0001", "GPU-0003", "GPU-0004")}
    assert place([tenant("a", GpuCount(count=3, nvlink="require"))], facts).findings[0].rule == "E1"


def test_fully_linked_cards_are_pairs_too() -> None:
    """Given cards that are all linked with each other, when four are wanted, then any whole pairs do."""
    links = tuple((one, two) for one in range(4) for two in range(one + 1, 4))
    assert len(place([tenant("a", GpuCount(count=4, nvlink="require"))], cards(4, nvlink=links)).cards["a"]) == 4


def test_unknown_cards_bind_nothing_new() -> None:
    """Given unreadable cards, when a list without cards is placed, then only that one is bound."""
    facts = RigFacts(Unknown("no driver"))
    placed = place([tenant("a", ()), tenant("bb", (0,)), tenant("ccc", GpuCount(count=1))], facts)
    assert (placed.cards, placed.findings) == ({"a": ()}, ())


def test_a_rig_without_cards_says_so() -> None:
    """Given no card, when one is wanted, then the hint does not speak of indices."""
    assert place([tenant("a", (0,))], cards(0)).findings[0].hint == "the rig has no card"
    assert place([tenant("a", (1,))], cards(1)).findings[0].hint == "the rig has card 0"


def test_many_claimants_of_a_card_are_one_finding_each() -> None:
    """Given a hundred instances on one card, when the rules are asked, then each but the first is told once, in brief."""
    crowd = [Tenant(f"i{n}", True, 8000 + n, (0,), cpu=True) for n in range(100)]
    found = check_rules(crowd, cards(1), place(crowd, cards(1)).cards)
    assert len(found) == 99
    assert found[-1].message == "card 0 is claimed by i0, i1, i2, i3, i4 and 94 more too"
