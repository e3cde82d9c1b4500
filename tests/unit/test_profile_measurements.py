"""The measurements that come with Steward: each is of a template, on cards that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from controller.adapters.http.image_registry import DEFAULT_HOST
from controller.model.checking import check
from controller.model.document import Document
from controller.model.profile_measurement import Measurement, MeasurementsFile
from controller.model.profile_registries import RegistriesFile
from tests.unit.profiles import HARDWARE, MODELS, ROOT, parsed
from tests.unit.templates import CATALOGUE, TEMPLATES, whole

FILE: Final = ROOT / "measurements.yml"
ROW: Final = '{template: a/b, cards: [rtx-3090], context: 8192, prose: 50, timing: wall, as_of: "2026-01-01", source: x:L1}'


def measurements() -> tuple[Measurement, ...]:
    """The file as Steward finds and reads it."""
    found = CATALOGUE.find("profiles", "measurements")
    assert isinstance(found, Document), found
    assert Path(found.file) == FILE
    made, problems = check(MeasurementsFile, found)
    assert made is not None, problems
    return made.measurements


def test_every_measurement_is_of_a_template_on_as_many_cards_as_it_takes() -> None:
    """Given the measurements, when they are compared with the catalogue, then template, cards, context and source fit."""
    rows = measurements()
    for row in rows:
        assert row.template in TEMPLATES
        assert set(row.cards) <= set(HARDWARE)
        steward = whole(row.template).x_steward
        assert len(row.cards) == steward.requires.gpus, row.source
        assert row.context <= (MODELS[steward.model or ""].max_context_tokens or row.context)
    assert len({row.source for row in rows}) == len(rows)


def test_most_living_templates_were_measured() -> None:
    """Given the measurements, when their templates are counted, then a ranking has something to go by."""
    assert len({row.template for row in measurements()}) >= 40


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("prose: 50", "kv_format: bf16", "expected prose or code"),
        ("[rtx-3090]", "[]", "cards"),
        ("timing: wall", "timing: best", "timing"),
        ("prose: 50", "prose: 0", "prose"),
        ("source: x:L1", "sauce: x:L1", "did you mean `source`?"),
    ],
)
def test_a_wrong_measurement_is_told(old: str, new: str, expected: str) -> None:
    """Given a row with a fault, when it is read, then the problem names it."""
    fine = parsed(MeasurementsFile, "m.yml", f"measurements: [{ROW}]".encode())
    assert isinstance(fine, MeasurementsFile)
    wrong = parsed(MeasurementsFile, "m.yml", f"measurements: [{ROW.replace(old, new)}]".encode())
    assert isinstance(wrong, tuple)
    assert any(expected in f"{problem.path} {problem.message} {problem.hint}" for problem in wrong), wrong


def test_the_default_registry_has_its_api_elsewhere() -> None:
    """Given the shipped list of registries, when it is read, then the host that stands before bare references has an entry."""
    found = CATALOGUE.find("profiles", "registries")
    assert isinstance(found, Document), found
    made, problems = check(RegistriesFile, found)
    assert made is not None, problems
    assert DEFAULT_HOST in made.apis
