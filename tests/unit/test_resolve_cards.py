"""Cards and their types: by the facts' own word, by what a driver says, or not at all; and images that cannot be pulled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from controller.model.document import Document
from controller.model.problem import Problem, Severity
from controller.model.reading import Known, Unknown
from controller.model.rig import Card, RigFacts
from controller.resolve import Surroundings, resolve
from controller.resolve.card_types import card_types
from controller.resolve.profiles import Profiles
from tests.unit.resolving import CATALOGUE, Shelf, document, one, resolved, shown

GIB = 2**30
ENTRY = "name: a, compose: vllm/any, gpus: [0], port: 8010, set: {model_path: m}"
CARD = Card(0, "GPU-0000", "RTX 3090", Known(int(23.56 * GIB)), compute_capability=Known(8.6))
SMALL_ONE = """
id: rtx-3090-small
name: NVIDIA GeForce RTX 3090 of 12 GB
names: [RTX 3090]
memory_gib: 12
compute_capability: 8.6
"""


def types(card: Card, texts: Mapping[str, str] = CATALOGUE) -> list[str]:
    """The ids of the profiles that the only card of a rig gets."""
    found = card_types(RigFacts(Known((card,))), Profiles(Shelf(texts)))
    return [profile.id for profile in found.values()]


@dataclass
class Counting:
    """A catalogue that remembers what was asked for."""

    shelf: Shelf = field(default_factory=Shelf)
    asked: list[str] = field(default_factory=list)

    def find(self, kind: str, identifier: str) -> Document | tuple[Problem, ...] | None:
        """The document."""
        self.asked.append(f"{kind}/{identifier}")
        return self.shelf.find(kind, identifier)

    def ids(self, kind: str) -> tuple[str, ...]:
        """Every id of a kind."""
        return self.shelf.ids(kind)


def test_a_card_is_known_by_name_and_memory() -> None:
    """Given what a driver says, when profiles are looked through, then name and memory must both fit."""
    texts = {**CATALOGUE, "profiles/hardware/rtx-3090-small": SMALL_ONE}
    assert types(CARD, texts) == ["rtx-3090"]
    assert types(replace(CARD, memory_total=Known(int(11.7 * GIB))), texts) == ["rtx-3090-small"]
    assert types(replace(CARD, name="RTX 3090 Ti"), texts) == []
    assert types(replace(CARD, memory_total=Known(32 * GIB)), texts) == []
    assert types(replace(CARD, memory_total=Unknown("no answer")), texts) == []


def test_the_facts_own_word_is_taken() -> None:
    """Given facts that name a card's profile, when it is looked up, then name and memory do not matter."""
    assert types(replace(CARD, name="anything", profile="rtx-3090")) == ["rtx-3090"]
    assert types(replace(CARD, name="anything", profile="rtx-9999")) == []


@pytest.mark.parametrize(("profile", "reads"), [("rtx-3090", 1), (None, 2)], ids=["named", "by name"])
def test_hardware_profiles_are_read_only_when_needed(profile: str | None, reads: int) -> None:
    """Given a card whose profile is named, when the estate is resolved, then no other hardware profile is read."""
    counting = Counting(Shelf({**CATALOGUE, "profiles/hardware/rtx-3090-small": SMALL_ONE}))
    around = Surroundings(RigFacts(Known((replace(CARD, profile=profile),))))
    resolve([document(f"estate: [{{{ENTRY}}}]")], counting, around, "rev")
    assert sum(name.startswith("profiles/hardware/") for name in counting.asked) == reads


def test_no_hardware_profile_is_read_for_instances_without_cards() -> None:
    """Given an estate that wants no card, when it is resolved on a rig that has one, then the card is not looked up."""
    counting = Counting()
    entry = "name: a, compose: llama/any, gpus: [], port: 8010, set: {model_file: a.gguf}"
    resolve([document(f"estate: [{{{entry}}}]")], counting, Surroundings(RigFacts(Known((CARD,)))), "rev")
    assert [name for name in counting.asked if name.startswith(("profiles/hardware/", "profiles/limits/"))] == []


def test_a_card_that_no_profile_describes_is_a_note() -> None:
    """Given a card of an unknown type, when an instance is on it, then a note says what is known, and nothing is wrong."""
    other = replace(CARD, index=1, uuid="GPU-0001", name="RTX 9090", memory_total=Known(48 * GIB))
    unused = replace(other, index=2, uuid="GPU-0002")
    around = Surroundings(RigFacts(Known((CARD, other, unused))))
    found = resolved(f"estate: [{{{ENTRY.replace('[0]', '[1]')}}}]", around=around).problems
    assert [line for line in shown(found, Severity.INFO) if " card:" in line] == [
        ' card: card 1: no profile describes "RTX 9090" with 48.00 GiB; known: what the driver says | '
        "add profiles/hardware/ID.yml beside the estate to have it judged like other cards"
    ]
    assert shown(found) == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("availability: {state: purged, as_of: '2026-05-20'}", "its registry does not have it any more (seen on 2026-05-20)"),
        ("availability: {state: purged}", "its registry does not have it any more: load it"),
        ("availability: {state: unknown}", ""),
        ("note: x", ""),
    ],
)
def test_an_image_that_cannot_be_pulled_is_known(more: str, expected: str) -> None:
    """Given an engine profile, when it says that its image is gone, then the instance says so, and not of another image."""
    catalogue = {**CATALOGUE, "profiles/engines/vllm": f"{CATALOGUE['profiles/engines/vllm']}{more}\n"}
    assert one(ENTRY, catalogue=catalogue).unpullable.startswith(expected)
    assert bool(one(ENTRY, catalogue=catalogue).unpullable) == bool(expected)
    assert one(f"{ENTRY}, image: 'mine/vllm:v1'", catalogue=catalogue).unpullable == ""
    simulated = Surroundings(RigFacts(Known((CARD,))), simulated=True)
    assert one(ENTRY, around=simulated, catalogue=catalogue).unpullable == ""
