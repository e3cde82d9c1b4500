"""`steward topology`: the cards of any rig as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.model.reading import Known, Unknown
from controller.model.rig import RigFacts
from observability.text import topology_text
from observability.topology import topology_document
from tests.unit.cli import Steward
from tests.unit.placing import GIB, card

RIG_FILE = """\
gpus:
  - {profile: rtx-3090, uuid: GPU-aaaa, foreign_mib: 512}
  - {profile: rtx-3090, uuid: GPU-bbbb}
  - {profile: rtx-3080}
nvlink: [[0, 1]]
host: {driver: "580.65"}
"""


def test_a_rig_file_as_text(steward: Steward) -> None:
    """Given a rig file, when its topology is asked for, then cards, links, class and advice are there."""
    (steward.folder / "rig.yml").write_text(RIG_FILE)
    ended = steward("topology", "--rig", "rig.yml")
    assert (ended.code, ended.err) == (0, "")
    assert [line.rstrip() for line in ended.out.splitlines()] == [
        "rig rig.yml: 3 cards, driver 580.65",
        "",
        "GPU  CARD                     PROFILE   USED/TOTAL GiB  FOREIGN  CC   PCIE NOW  PCIE MAX  NVLINK  LIMIT",
        "0    NVIDIA GeForce RTX 3090  rtx-3090  0.5/23.6        0.5      8.6  -         -         1       -",
        "1    NVIDIA GeForce RTX 3090  rtx-3090  0.0/23.6        0.0      8.6  -         -         0       -",
        "2    NVIDIA GeForce RTX 3080  rtx-3080  0.0/9.8         0.0      8.6  -         -         -       -",
        "",
        "topology: vram_mismatched",
        "Unequal memory: tensor parallelism takes from each card only what the smallest one has. Give an instance cards of one "
        "type (`same: true`), or let llama.cpp divide the layers by memory (`tensor_split`).",
        "NVLink joins 0+1: `gpus: {count: 2, nvlink: require}` gives an instance a whole pair.",
    ]


@pytest.mark.parametrize(
    ("rig", "expected"),
    [
        ("1x:rtx-3090", "single"),
        ("2x:rtx-3090", "homogeneous"),
        ("sim", "homogeneous"),
        ("1x:rtx-3090+1x:rtx-4090", "vram_matched_compute_mismatched"),
        ("1x:rtx-3090+1x:rtx-3080", "vram_mismatched"),
        ("1x:rtx-3090+1x:rtx-5090", "heterogeneous_mixed"),
    ],
)
def test_every_class_as_json(steward: Steward, rig: str, expected: str) -> None:
    """Given rigs of all kinds, when JSON is asked for, then the class and each card's profile are in it."""
    ended = steward("rig", "topology", "--rig", rig, "--output", "json")
    document = json.loads(ended.out)
    assert ended.code == 0
    assert (document["rig"], document["topology"]) == (rig, expected)
    assert document["advice"]
    assert all(found["profile"] and found["memory_total_bytes"] for found in document["gpus"])


def test_a_simulated_rig_has_its_lanes_and_limits(steward: Steward, tmp_path: Path) -> None:
    """Given a simulated rig with a script, when its topology is asked for, then the simulated driver's figures are shown."""
    (tmp_path / "rig.yml").write_text(RIG_FILE + "simulation: {}\n")
    found = json.loads(steward("topology", "--rig", "sim:rig.yml", "--output", "json").out)["gpus"][0]
    assert (found["pcie_max_generation"], found["pcie_max_lanes"], found["power_limit_watts"]) == (4, 16, 350)
    assert (found["uuid"], found["nvlink"], found["memory_foreign_bytes"]) == ("GPU-aaaa", [1], 512 * 2**20)


def test_a_profile_of_ones_own_counts(steward: Steward) -> None:
    """Given a folder with more profiles, when a card of one is looked at, then it is known."""
    folder = steward.folder / "more" / "profiles" / "hardware"
    folder.mkdir(parents=True)
    (folder / "mine.yml").write_text("{id: mine, name: My Card, memory_gib: 16, compute_capability: 8.0}\n")
    ended = steward("topology", "--rig", "1x:mine", "--profiles", "more")
    assert "0    My Card  mine     0.0/15.7" in ended.out


def test_cards_that_cannot_be_read_are_no_cards(steward: Steward) -> None:
    """Given a machine without a driver, when its topology is asked for, then the reason is told and the code is 3."""
    ended = steward("topology")
    if ended.code == 0:
        pytest.skip("this machine has a driver")
    assert ended.code == 3
    assert ended.out.startswith("rig auto: ")
    document = json.loads(steward("topology", "--output", "json").out)
    assert (document["topology"], document["gpus"]) == (None, [])
    assert document["unknown"]


def test_what_a_driver_says_is_in_the_row() -> None:
    """Given readings of a driver, when they are shown, then lanes and limit stand there, and dashes for what is not known."""
    read = card(
        0,
        "3090",
        pcie_generation=Known(1),
        pcie_width=Known(4),
        pcie_max_generation=Known(4),
        pcie_max_width=Known(16),
        power_limit_watts=Known(280.0),
        memory_used=Known(GIB),
    )
    silent = card(1, "3090", memory_total=Unknown("GPU is lost"), compute_capability=Unknown("GPU is lost"))
    document = topology_document(RigFacts(Known((read, silent)), notes=("card 1 is lost",)), {"GPU-0000": "rtx-3090"}, "auto")
    assert document["topology"] is None
    assert document["gpus"][1]["unknown"]["memory_total_bytes"] == "GPU is lost"
    assert topology_text(document, width=1000, color=False).splitlines() == [
        "rig auto: 2 cards",
        "",
        "GPU  CARD      PROFILE     USED/TOTAL GiB  FOREIGN  CC   PCIE NOW  PCIE MAX   NVLINK  LIMIT",
        "0    RTX 3090  rtx-3090    1.0/23.6        -        8.6  gen 1 x4  gen 4 x16  -       280 W",
        "1    RTX 3090  no profile  -/-             -        -    -         -          -       -",
        "",
        "topology: not known, memory of card 1: GPU is lost",
        "note: card 1 is lost",
    ]
    assert max(map(len, topology_text(document, width=40, color=False).splitlines())) == 40
