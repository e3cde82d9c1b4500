"""C13, C16, E1 to E4: cards, their links, and who has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from controller.model.profile import EngineProfile
from controller.model.profile_words import DialectName
from controller.model.reading import Known
from controller.model.rig import RigFacts
from controller.model.verdict import Outcome
from controller.solver import Candidate, Finding, RigView, Tenant, TypedCard
from controller.solver.topology import Topology
from tests.unit.judging import (
    GIB,
    ONE,
    TWO,
    UNREAD,
    Case,
    Group,
    candidate,
    card,
    cards,
    holds_case,
    llama,
    rig,
)

LINKED: Final[dict[str, Any]] = {"needs_nvlink": True}
PAIR: Final = ((0, 1),)

C13: Final = Group("C13")
C13.passes("linked cards", rig(candidate(TWO, claims=LINKED), links=PAIR), "linked pairs: 0+1")
C13.edge("another pair of the rig is linked", Outcome.HOLDS, rig(candidate(TWO, claims=LINKED), links=((2, 3),)))
C13.fails("cards that take no link", rig(candidate(cards("rtx-5090", "rtx-5090"), claims=LINKED)), "cannot be linked")
C13.fails("no active link", rig(candidate(TWO, claims=LINKED)), "no NVLink is active on this rig")
C13.skips("a template without NVLink", candidate(TWO), "does not need NVLink")
C13.skips("unread cards", candidate(UNREAD, claims=LINKED), "NVML is not loaded")

BESIDE: Final[dict[str, Any]] = {"contiguous": True}
E2: Final = Group("E2")
E2.passes("cards side by side", candidate(TWO, claims=BESIDE), "cards 0 and 1 follow each other")
E2.edge("one card", Outcome.HOLDS, candidate(claims=BESIDE))
E2.edge("listed in another order", Outcome.HOLDS, candidate((card(2), card(1)), claims=BESIDE))
E2.fails("a card between them", candidate((card(0), card(2)), claims=BESIDE), "cards 0 and 2 are not")
E2.skips("a template that does not care", candidate((card(0), card(2))), "does not need cards side by side")
E2.skips("unread cards", candidate(UNREAD, claims=BESIDE), "NVML is not loaded")

E3: Final = Group("E3")
E3.passes("a whole pair", rig(candidate(TWO, claims=LINKED), links=PAIR), "linked pairs: 0+1")
E3.edge("two whole pairs", Outcome.HOLDS, rig(candidate(cards(*["rtx-3090"] * 4), claims=LINKED), links=((0, 3), (1, 2))))
E3.fails(
    "one card of each pair", rig(candidate((card(0), card(2)), claims=LINKED), links=((0, 1), (2, 3))), "cards 0, 2 are no"
)
E3.fails("one card alone", rig(candidate(ONE, claims=LINKED), links=PAIR), "card 0 is no NVLink pair")
E3.skips("a template without NVLink", candidate(TWO), "does not need NVLink")
E3.skips("a rig without links", candidate(TWO, claims=LINKED), "no NVLink is active")
E3.skips("unread cards", candidate(UNREAD, claims=LINKED), "NVML is not loaded")

UNEQUAL: Final = cards("rtx-3090", "rtx-5090")


def linked(index: int, **changes: int) -> TypedCard:
    """A card with what a driver reads of its link."""
    readings: dict[str, Any] = {name: Known(value) for name, value in changes.items()}
    return card(index, **readings)


def on_links(**changes: int) -> Candidate:
    """Two cards with such links."""
    return candidate((linked(0, **changes), linked(1, **changes)))


C16: Final = Group("C16")
C16.passes("one card", candidate(), "single")
C16.passes("two equal cards", candidate(TWO), "homogeneous: cards 0 and 1 (NVIDIA GeForce RTX 3090)")
C16.passes(
    "unequal cards for llama.cpp", candidate(UNEQUAL, engine=llama()), "unless tensor_split says otherwise", Outcome.NOTES
)
C16.passes(
    "unequal cards with shares of their own",
    candidate(UNEQUAL, engine=llama(), parameters={"tensor_split": ("3", "4")}),
    "tensor_split divides",
)
C16.passes(
    "unequal cards as stages", candidate(UNEQUAL, claims={"tensor": 1, "pipeline": 2}), "the smallest card", Outcome.NOTES
)
C16.edge("totals a little apart", Outcome.WARNS, candidate(cards("rtx-3090", "rtx-4090")), "unequal compute capability")
C16.edge("links of four lanes over NVLink", Outcome.HOLDS, rig(on_links(pcie_width=4), links=PAIR))
C16.edge("links of eight lanes", Outcome.HOLDS, on_links(pcie_width=8, pcie_max_generation=4))
C16.fails("unequal memory", candidate(UNEQUAL), "8.28 GiB would lie idle")
C16.fails("unequal memory alone", candidate(cards("rtx-3080", "rtx-3090")), "card 0 with 9.8 GiB and card 1 with 23.56 GiB")
C16.fails("unequal compute capability", candidate(cards("rtx-3090", "rtx-4090")), "card 1 has 8.9", Outcome.WARNS)
C16.fails("links of four lanes", on_links(pcie_width=4), "measured at 70 tokens/s in text and 90 in code", Outcome.NOTES)
C16.fails("links of generation 3", on_links(pcie_width=16, pcie_max_generation=3), "PCIe generation 3", Outcome.NOTES)
C16.skips("unread cards", candidate(UNREAD), "NVML is not loaded")
C16.skips("no card", candidate((), engine=llama()), "the instance has no card")
C16.skips("a card of unknown memory", candidate((card(0), card(1, None))), "memory of card 1")


def shared(name: str, port: int, size: float) -> Candidate:
    """An instance that shares card 0 and takes that part of it."""
    return candidate(name=name, port=port, claims={"exclusive": False}, parameters={"gpu_memory_utilization": size})


GENERIC: Final = EngineProfile(id="generic", type=DialectName.GENERIC, image=None, cpu=True)
TENANT: Final = candidate(
    name="images", port=8012, engine=GENERIC, claims={"exclusive": False}, vram_claim_bytes=8 * GIB, served_names=()
)

E1: Final = Group("E1")
E1.passes("a card of its own", candidate())
E1.passes("a stopped neighbour on the same card", rig(candidate(), candidate(name="old", port=8011, running=False)))
E1.passes("two that share and fit", rig(shared("chat", 8010, 0.6), TENANT))
E1.edge("two that share and fill the card", Outcome.HOLDS, rig(shared("chat", 8010, 0.5), shared("embed", 8011, 0.5)))
E1.fails("another running instance on the card", rig(candidate(name="code", port=8011), candidate()), "claimed by code too")
E1.fails(
    "a neighbour that does not share", rig(candidate(name="code", port=8011), shared("chat", 8010, 0.3)), "claimed by code"
)
E1.fails("two that share too much", rig(shared("embed", 8011, 0.5), shared("chat", 8010, 0.6)), "beyond its 23.56 GiB")
E1.fails("a generic tenant too many", rig(TENANT, shared("chat", 8010, 0.7)), "images takes 8 GiB, chat takes 16.49 GiB")
E1.fails("no card for an engine that needs one", candidate(()), "needs at least one card")
E1.fails("one card twice", candidate((card(0),), claims={"wanted": (0, 0)}), "listed twice")
E1.fails(
    "no room that placing could find",
    replace(rig(candidate()), unplaced=(Finding("E1", "chat", ("gpus",), "no 2 free cards"),)),
    "no 2 free cards",
)
E1.fails("unread cards", candidate(UNREAD), "only what the files say was checked", Outcome.NOTES)

E4: Final = Group("E4")
E4.passes("ports of their own", rig(candidate(), candidate(name="code", port=8011, running=False)))
E4.edge("the port beside", Outcome.HOLDS, rig(candidate(name="code", port=8009), candidate()))
E4.fails("the port of another", rig(candidate(name="code"), candidate()), "port 8010 is taken by code")
E4.fails("the port of a stopped one", rig(candidate(name="code", running=False), candidate()), "port 8010 is taken by code")

CASES: Final = (*C13.cases, *C16.cases, *E1.cases, *E2.cases, *E3.cases, *E4.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given instances, when they are judged, then the rule says what the case says."""
    holds_case(case)


def test_instances_that_are_no_candidates_claim_too() -> None:
    """Given an instance whose template is wrong, when its neighbour is judged, then its card and port are taken."""
    lone = rig(candidate())
    broken = Tenant("broken", True, 8010, (0,), cpu=True)
    view: RigView = replace(lone, tenants=(broken, lone.candidates[0].tenant))
    assert {(f.rule, f.instance, f.other) for c in ("E1", "E4") for f in Case(c, "", "", Outcome.BROKEN, view).findings} == {
        ("E1", "chat", "broken"),
        ("E4", "chat", "broken"),
    }


def test_all_classes_of_topology_are_told() -> None:
    """Given every mix of cards, when it is judged, then each of the five classes is reached."""
    mixes = {
        Topology.SINGLE: ONE,
        Topology.HOMOGENEOUS: TWO,
        Topology.VRAM_MATCHED_COMPUTE_MISMATCHED: cards("rtx-3090", "rtx-4090"),
        Topology.VRAM_MISMATCHED: cards("rtx-3080", "rtx-3090"),
        Topology.HETEROGENEOUS_MIXED: UNEQUAL,
    }
    assert set(mixes) == set(Topology)
    for kind, on in mixes.items():
        holds_case(
            Case(
                "C16",
                "",
                "",
                Outcome.HOLDS if kind in list(Topology)[:3] else Outcome.NOTES,
                rig(candidate(on, engine=llama())),
                kind.value,
            )
        )


def test_many_claimants_of_a_card_are_one_finding_each() -> None:
    """Given a hundred instances on one card, when they are judged, then each but the first is told once, in brief."""
    crowd = tuple(Tenant(f"i{n}", True, 8000 + n, (0,), cpu=True) for n in range(100))
    view = replace(rig(), tenants=crowd, facts=RigFacts(Known((card(0).card,))))
    found = Case("E1", "", "", Outcome.BROKEN, view).findings
    assert len(found) == 99
    assert found[-1].message == "card 0 is claimed by i0, i1, i2, i3, i4 and 94 more too"
