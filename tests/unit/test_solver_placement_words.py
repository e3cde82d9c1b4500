"""What a placement says: why an instance has its cards, and who is in the way of one that has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.solver import Tenant, place
from tests.unit.placing import GIB, count, rig, tenant

FOUR = "3090 3090 3090 3090"
LARGE = tenant("y", count(1), min_vram_bytes=32 * GIB)


@pytest.mark.parametrize(
    ("models", "links", "others", "wish", "said"),
    [
        (FOUR, [(2, 3)], [], tenant("a", count(2, "require")), "cards 2, 3: the only free NVLink pair"),
        (FOUR, [(2, 3), (0, 1)], [], tenant("a", count(2, "prefer")), "cards 0, 1: a free NVLink pair"),
        (FOUR, [(2, 3), (0, 1)], [], tenant("a", count(4, "require")), "cards 0, 1, 2, 3: the only free NVLink pairs"),
        (FOUR, [(2, 3)], [tenant("b", (2,))], tenant("a", count(2, "prefer")), "cards 0, 1: no NVLink pair is free"),
        (FOUR, [(0, 1)], [], tenant("a", count(1)), "card 2: no NVLink pair is broken up"),
        (FOUR, [], [tenant("b", (1,))], tenant("a", count(2), contiguous=True), "cards 2, 3: side by side"),
        (FOUR, [], [], tenant("a", count(2)), "cards 0, 1: the first free cards that fit"),
        (FOUR, [], [], tenant("a", count(1)), "card 0: the first free card that fits"),
        (FOUR, [], [tenant("b", (0, 1, 2))], tenant("a", count(1)), "card 3: the only free card that fits"),
        (FOUR, [], [tenant("b", (0,), running=False)], tenant("a", count(1)), "card 1: not those of a stopped instance"),
        ("5090 3090", [], [], tenant("a", count(1)), "card 1: the least memory that is enough"),
        ("3080 3090 3090", [], [], tenant("a", count(2), tensor=2), "cards 1, 2: equal memory for tensor parallelism"),
        ("3090 4090 3090", [], [], tenant("a", count(2)), "cards 0, 2: of one compute capability"),
    ],
)  # fmt: skip
def test_a_placement_says_why(models: str, links: list[tuple[int, int]], others: list[Tenant], wish: Tenant, said: str) -> None:
    """Given what else could be had, when an instance is placed, then the sentence names what sets its cards apart."""
    assert place([*others, wish], rig(models, *links)).reasons["a"] == said


def test_who_shares_is_named() -> None:
    """Given two that share a card, when they are placed, then each is told of the other."""
    both = [tenant(name, count(1), exclusive=False, min_vram_bytes=4 * GIB) for name in ("a", "b")]
    assert place(both, rig("3090")).reasons == {
        "a": "card 0: shared with b",
        "b": "card 0: shared with a",
    }


def test_what_is_kept_says_so() -> None:
    """Given a binding, when it is kept, then the sentence says until when; a card that is gone has its UUID."""
    kept = tenant("a", count(2), kept=("GPU-0001", "GPU-0000"))
    assert place([kept], rig("3090 3090")).reasons == {
        "a": "cards 1, 0: kept from before, as long as the text of its gpus stays"
    }
    assert place([kept], rig("3090")).reasons["a"].startswith("GPU-0001, GPU-0000: kept")


@pytest.mark.parametrize(
    ("models", "links", "everyone", "message", "hint"),
    [
        (
            "3090 3090",
            [],
            [tenant("a", count(4))],
            "no 4 free cards: the rig has cards 0 to 1",
            "ask for fewer cards, or take a template that needs less",
        ),
        (
            "3080 3090 3080",
            [],
            [tenant("a", count(2), min_vram_bytes=24 * GIB)],
            "no 2 free cards with 24 GiB or more: the rig has cards 0 to 2, of which card 1 is enough",
            "ask for fewer cards, or take a template that needs less",
        ),
        (
            "3090",
            [],
            [tenant("a", count(1), min_compute_capability=9.0)],
            "no free card of compute capability 9 or higher: the rig has card 0, which is not enough",
            "ask for fewer cards, or take a template that needs less",
        ),
        (
            "3090 3090",
            [],
            [tenant("a", count(2, "require"))],
            "no 2 free cards in NVLink pairs: the rig has cards 0 to 1",
            "write nvlink: prefer",
        ),
        (
            "3090 4090",
            [],
            [tenant("a", count(2, same=True))],
            "no 2 free cards of one type: the rig has cards 0 to 1",
            "write same: false",
        ),
        (
            "3090 3090 3090",
            [(0, 1)],
            [tenant("b", (1,)), tenant("a", count(2, "require"))],
            "no 2 free cards in NVLink pairs: the rig has cards 0 to 2; b has card 1; cards 0, 2 are unclaimed",
            "write nvlink: prefer, or set state: stopped on b",
        ),
        (
            "3090 3090 3090",
            [],
            [tenant("b", (0,)), tenant("c", count(2)), tenant("a", count(1))],
            "no free card: the rig has cards 0 to 2; b has card 0; cards 1, 2 are wanted by c too",
            "set state: stopped on b or c",
        ),
        (
            "3090 5090",
            [],
            [LARGE, tenant("x", count(1)), replace(LARGE, name="a")],
            "no free card with 32 GiB or more: the rig has cards 0 to 1, of which card 1 is enough; "
            "card 1 is wanted by y too",
            "set state: stopped on y",
        ),
        (
            "3090",
            [],
            [tenant("b", (0,)), tenant("c", (0,)), tenant("a", count(1))],
            "no free card: the rig has card 0; b has card 0; c has card 0; none is unclaimed",
            "ask for fewer cards, stop other instances, or name the cards",
        ),
    ],
)  # fmt: skip
def test_who_has_no_cards_is_told_why(
    models: str, links: list[tuple[int, int]], everyone: list[Tenant], message: str, hint: str
) -> None:
    """Given no room, when instances are placed, then the finding names who is in the way and the single changes that help."""
    findings = place(everyone, rig(models, *links)).findings
    assert [(f.instance, f.message, f.hint) for f in findings] == [("a", message, hint)]
