"""The check of a catalogue: the one that comes with Steward is right, and each kind of mistake is found at its place."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller.model.snapshot import snapshot_of
from controller.resolve.catalogue_check import check_catalogue
from controller.settings import Bounds
from controller.sources.search_path import catalogue_for
from tests.unit.resolving import CATALOGUE, Shelf
from tests.unit.test_resolve_models import PROFILES

TRACKER = """
upstream:
  - {id: row-1, repository: a/b, number: 1, kind: issue, title: t, status: open, effect: e, affects: [parrot-9b, vllm/any]}
"""
OVERLAY = "id: patch\ntitle: t\nmechanism: env\nsource: none\nupstream: [row-1]\nenv: {A: '1'}\n"
CONFLICT = "conflicts: [{with: pitch, kind: exclusive}]\n"
LIMIT = """
id: cap
title: t
applies_to: {engine_types: [vllm], models: [parrot-9b]}
symptom: out_of_memory
accumulated: {low: 1, high: 2}
evidence: [e]
upstream: [row-1]
way_out: [w]
as_of: "2026-05-23"
"""
WHOLE: Mapping[str, str] = {
    **CATALOGUE,
    **PROFILES,
    "profiles/upstream": TRACKER,
    "overlays/patch": OVERLAY,
    "profiles/limits/cap": LIMIT,
    "composes/mine/parrot": "x-steward: {engine: vllm, model: parrot-9b, drafter: parrot-mtp}\nservices: {engine: {}}\n",
}


def found(**changed: str) -> list[str]:
    """What the check says of the whole catalogue with some documents replaced (`__` stands for the slash)."""
    texts = {**WHOLE, **{key.replace("__", "/").replace("_", "-"): text for key, text in changed.items()}}
    return [f"{p.place} {p.message} | {p.hint}" for p in check_catalogue(Shelf(texts))]


def test_the_catalogue_that_comes_with_steward_is_right() -> None:
    """Given the built-in catalogue, when it is checked, then there is no error."""
    problems = check_catalogue(catalogue_for(snapshot_of(()), None, Bounds()))
    assert [f"{p.place}: {p.message}" for p in problems if p.severity == "error"] == []


def test_a_whole_catalogue_has_no_problem() -> None:
    """Given a small catalogue of every kind, when it is checked, then nothing is found."""
    assert found() == []


def test_an_experimental_template_that_suits_no_rig_is_a_warning() -> None:
    """Given a template that no rig suits, when it is experimental or blocked, then that is a warning or nothing at all."""
    text = WHOLE["composes/mine/parrot"].replace("drafter:", "requires: {gpus: 3}, status: %s, drafter:")
    for status, expected in (("production", ["error"]), ("experimental", ["warning"]), ("blocked", [])):
        problems = check_catalogue(Shelf({**WHOLE, "composes/mine/parrot": text % status}))
        assert [p.severity for p in problems] == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"profiles__models__parrot_9b": PROFILES["profiles/models/parrot-9b"].replace("layers: 4\n", "layers: no\n")},
            "of at least 1, found",
        ),
        ({"profiles__limits__cap": LIMIT.replace("id: cap", "id: cup")}, "the id is cup, and the file is called cap"),
        ({"profiles__limits__cap": LIMIT.replace("row-1", "row-7")}, "there is no row in profiles/upstream.yml row-7"),
        (
            {"profiles__limits__cap": LIMIT.replace("parrot-9b", "parot-9b")},
            "there is no model parot-9b | did you mean `parrot-9b`?",
        ),
        ({"overlays__patch": OVERLAY.replace("row-1", "row-2")}, "there is no row in profiles/upstream.yml row-2"),
        (
            {"overlays__patch": OVERLAY + "conflicts: [{with: pitch, kind: exclusive}]\n"},
            "there is no overlay or engine profile pitch",
        ),
        ({"profiles__upstream": TRACKER.replace("vllm/any", "vllm/every")}, "there is no engine profile or model or"),
        ({"profiles__upstream": TRACKER + TRACKER.split("\n", 2)[2]}, "there is a row row-1 already"),
        (
            {"profiles__engines__other": CATALOGUE["profiles/engines/other"] + "required_overlays: [patsch]\n"},
            "there is no overlay patsch | did you mean `patch`?",
        ),
        (
            {"profiles__drafters__parrot_mtp": PROFILES["profiles/drafters/parrot-mtp"].replace("[parrot-9b]", "[]")},
            "drafter parrot-mtp does not name model parrot-9b",
        ),
        (
            {"profiles__hardware__twin": CATALOGUE["profiles/hardware/rtx-3090"].replace("id: rtx-3090", "id: twin")},
            "rtx-3090 describes the same card",
        ),
        ({"composes__mine__parrot": "x-steward: {engine: vllm, model: parrot}\n"}, "there is no model parrot | did you mean"),
        (
            {
                "composes__mine__parrot": WHOLE["composes/mine/parrot"].replace(
                    "drafter", "requires: {min_vram_gib: 80}, drafter"
                )
            },
            "no rig suits this template; the nearest one is refused: ",
        ),
    ],
)
def test_a_mistake_is_found_at_its_place(changed: dict[str, str], expected: str) -> None:
    """Given one wrong document, when the catalogue is checked, then its mistake is told with the file."""
    lines = [line for line in found(**changed) if expected in line]
    assert len(lines) == 1, found(**changed)
    assert all(line.startswith(("profiles/", "overlays/", "composes/")) for line in lines)
