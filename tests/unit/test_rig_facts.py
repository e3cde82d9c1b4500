"""Rigs without a driver: the text form, files of facts, and the simulated rig."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.model.problem import Problem
from controller.model.reading import Known, Unknown
from controller.model.rig import Card, RigFacts
from controller.model.snapshot import SourceFile, snapshot_of
from controller.ports import Catalogue
from controller.settings import Bounds
from controller.sources.rig_facts import rig_facts
from controller.sources.search_path import catalogue_for

BOUNDS = Bounds()
GIB = 2**30
CARDS = {
    "rtx-3090": "name: RTX 3090\nmemory_gib: 24\nusable_gib: 23.56\ncompute_capability: 8.6\nnvlink: true\n",
    "rtx-5090": "name: RTX 5090\nmemory_gib: 32\ncompute_capability: 12.0\n",
    "broken": "name: [\n",
}


@pytest.fixture
def catalogue() -> Catalogue:
    """A catalogue with two cards and a broken document."""
    files = [
        SourceFile(f"profiles/hardware/{name}.yml", f"{name}.yml", f"id: {name}\n{text}".encode())
        for name, text in CARDS.items()
    ]
    return catalogue_for(snapshot_of(files), None, BOUNDS)


def facts(text: str, catalogue: Catalogue) -> RigFacts:
    """The facts of a text that must be right."""
    found = rig_facts(text, catalogue, BOUNDS)
    assert isinstance(found, RigFacts), found
    return found


def cards(found: RigFacts) -> tuple[Card, ...]:
    """The cards of a rig."""
    assert isinstance(found.cards, Known)
    return found.cards.value


def problems(text: str, catalogue: Catalogue) -> tuple[Problem, ...]:
    """The problems of a text that must be wrong."""
    found = rig_facts(text, catalogue, BOUNDS)
    assert isinstance(found, tuple)
    return found


def test_a_text_with_two_kinds_of_cards(catalogue: Catalogue) -> None:
    """Given `2x:rtx-3090:nvlink+1x:rtx-5090`, when read, then three cards with fixed UUIDs and measured or estimated memory."""
    found = facts("2x:rtx-3090:nvlink+1x:rtx-5090", catalogue)
    assert [(card.index, card.uuid, card.name, card.profile) for card in cards(found)] == [
        (0, "GPU-5157e3a0-0000-4000-8000-000000000000", "RTX 3090", "rtx-3090"),
        (1, "GPU-5157e3a0-0000-4000-8000-000000000001", "RTX 3090", "rtx-3090"),
        (2, "GPU-5157e3a0-0000-4000-8000-000000000002", "RTX 5090", "rtx-5090"),
    ]
    assert [card.memory_total for card in cards(found)] == [
        Known(int(23.56 * GIB)),
        Known(int(23.56 * GIB)),
        Known(int(32 * 0.98 * GIB)),
    ]
    assert found.nvlink == ((0, 1),)
    assert cards(found)[2].compute_capability == Known(12.0)
    assert found.origin == "2x:rtx-3090:nvlink+1x:rtx-5090"
    assert isinstance(found.driver, Unknown)


def test_nvlink_joins_neighbours_in_pairs(catalogue: Catalogue) -> None:
    """Given five linked cards after one without, when read, then bridges join two each and the last is alone."""
    assert facts("1x:rtx-5090+5x:rtx-3090:nvlink", catalogue).nvlink == ((1, 2), (3, 4))


def test_uuids_are_hexadecimal_and_of_one_length(catalogue: Catalogue) -> None:
    """Given many cards, when read, then their UUIDs differ and are written alike."""
    uuids = [card.uuid for card in cards(facts("40x:rtx-5090", catalogue))]
    assert uuids[31] == "GPU-5157e3a0-0000-4000-8000-00000000001f"
    assert len(set(uuids)) == 40
    assert {len(uuid) for uuid in uuids} == {40}


def test_the_simulated_rig_reports_nominal_memory(catalogue: Catalogue) -> None:
    """Given `sim`, when read, then there are two cards whose driver total is their nominal memory."""
    found = facts("sim", catalogue)
    assert [card.memory_total for card in cards(found)] == [Known(24 * GIB)] * 2
    assert found.nvlink == ()


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("2x:rtx-309", "there is no hardware profile `rtx-309`", "did you mean `rtx-3090`?"),
        ("2x:teapot", "there is no hardware profile `teapot`", "known: "),
        ("2x:rtx-3090+rtx-5090", "`rtx-5090` is not understood", "2x:rtx-3090:nvlink+1x:rtx-5090"),
        ("2x:rtx-3090:nvlnk", "is not understood", "expected auto, sim"),
        ("2x:", "is not understood", "expected auto, sim"),
        ("0x:rtx-3090", "expected 1 to 64 cards, found 0", ""),
        ("60x:rtx-3090+5x:rtx-3090", "expected 1 to 64 cards, found 65", ""),
        ("1x:rtx-3090:nvlink", "NVLink joins two cards", "leave :nvlink out"),
        ("2x:rtx-5090:nvlink", "cards of the type rtx-5090 have no NVLink", "leave it out"),
        ("two-cards", "there is no rig file `two-cards`", "expected auto, sim"),
        ("sim:nowhere.yml", "there is no rig file `nowhere.yml`", "expected auto, sim"),
        ("", "cannot be read", "expected auto, sim"),
        ("2x:../hardware", "is not understood", "expected auto, sim"),
    ],
)
def test_texts_that_name_no_rig(catalogue: Catalogue, text: str, words: str, hint: str) -> None:
    """Given a text that is wrong, when read, then one problem without a place says what is accepted."""
    (problem,) = problems(text, catalogue)
    assert problem.place is None
    assert words in problem.message
    assert hint in problem.hint


def test_a_broken_profile_is_reported_where_it_stands(catalogue: Catalogue) -> None:
    """Given a profile that is no YAML, when a rig names it, then the problem is in that file, once."""
    (problem,) = problems("3x:broken", catalogue)
    assert problem.place is not None
    assert problem.place.file == "broken.yml"


RIG = """\
gpus:
  - {profile: rtx-3090, uuid: GPU-aaaa, memory_gib: 24, foreign_mib: 512}
  - {profile: rtx-3090}
  - {profile: rtx-5090, memory_gib: 16}
nvlink: [[1, 0], [0, 1]]
host: {ram_gib: 64, shm_gib: 32, driver: "580.65"}
simulation: {engines: {chat: {load: 5s}}}
"""


def test_a_file_of_facts(catalogue: Catalogue, tmp_path: Path) -> None:
    """Given a rig file, when read, then its cards, links, foreign memory, driver and host memory are facts."""
    path = tmp_path / "rig.yml"
    path.write_text(RIG)
    found = facts(str(path), catalogue)
    first, second, third = cards(found)
    assert (first.uuid, first.foreign_bytes, first.memory_used) == ("GPU-aaaa", 512 * 2**20, Known(512 * 2**20))
    assert second.uuid == "GPU-5157e3a0-0000-4000-8000-000000000001"
    assert [card.memory_total for card in (first, third)] == [Known(int(23.56 * GIB)), Known(int(16 * 0.98 * GIB))]
    assert (found.nvlink, found.driver) == (((0, 1),), Known("580.65"))
    assert (found.ram, found.shm) == (Known(64 * GIB), Known(32 * GIB))
    assert "simulation" in found.notes[0]


def test_a_file_for_the_simulation_reports_nominal_memory(catalogue: Catalogue, tmp_path: Path) -> None:
    """Given `sim:FILE`, when read, then totals are nominal and its script needs no note."""
    path = tmp_path / "rig.yml"
    path.write_text(RIG)
    found = facts(f"sim:{path}", catalogue)
    assert [card.memory_total for card in cards(found)] == [Known(24 * GIB), Known(24 * GIB), Known(16 * GIB)]
    assert found.notes == ()


def test_only_a_simulated_card_reports_its_types_ratings(tmp_path: Path) -> None:
    """Given a profile with a power limit and a link, then `sim` cards report them and cards of a text do not."""
    text = "id: a\nname: A\nmemory_gib: 24\ncompute_capability: 8.6\n"
    text += "power_limit_w: {maximum: 280}\npcie: {generation: 3, lanes: 8}\n"
    known = catalogue_for(snapshot_of([SourceFile("profiles/hardware/a.yml", "a.yml", text.encode())]), None, BOUNDS)
    path = tmp_path / "rig.yml"
    path.write_text("gpus: [{profile: a}]\n")

    (simulated,), (plain,) = cards(facts(f"sim:{path}", known)), cards(facts("1x:a", known))

    assert simulated.power_limit_watts == Known(280)
    assert (simulated.pcie_max_generation, simulated.pcie_max_width) == (Known(3), Known(8))
    assert all(isinstance(reading, Unknown) for reading in (plain.power_limit_watts, plain.pcie_max_generation))


def test_mistakes_in_a_file_are_placed(catalogue: Catalogue, tmp_path: Path) -> None:
    """Given a rig file with mistakes, when read, then each is a problem with its place, checked in two rounds."""
    path = tmp_path / "rig.yml"
    path.write_text("gpus:\n  - {profile: rtx-3090, memory: 24}\n  - {profile: 3090, foreign_mib: x}\n")
    found = problems(str(path), catalogue)
    assert [(p.path, p.hint) for p in found] == [
        ("gpus[0].memory", "did you mean `memory_gib`?"),
        ("gpus[1].profile", 'quote it: "3090"'),
        ("gpus[1].foreign_mib", ""),
    ]
    path.write_text(
        "gpus: [{profile: rtx-309}, {profile: rtx-5090, uuid: GPU-aaaa}, {profile: rtx-5090, uuid: GPU-aaaa}]\n"
        "nvlink: [[0, 7], [1], [1, 2]]\n"
    )
    contradictions = problems(str(path), catalogue)
    assert [p.path for p in contradictions] == ["nvlink[0][1]", "nvlink[1]", "gpus[2].uuid"]
    path.write_text("gpus: [{profile: rtx-309}, {profile: rtx-5090}, {profile: rtx-5090}]\nnvlink: [[1, 2]]\n")
    unknown = problems(str(path), catalogue)
    assert [(p.path, p.hint, str(p.place)) for p in unknown] == [
        ("gpus[0].profile", "did you mean `rtx-3090`?", f"{path}:1:18"),
        ("nvlink[0]", "leave it out", f"{path}:2:10"),
    ]


def test_a_file_that_is_no_yaml(catalogue: Catalogue, tmp_path: Path) -> None:
    """Given a rig file with a syntax error, when read, then the problem has its line."""
    path = tmp_path / "rig.yml"
    path.write_text("gpus: [\n")
    (problem,) = problems(str(path), catalogue)
    assert problem.place is not None
    assert problem.rule == "yaml"
