"""The page on overlays has every key of a record, every word that a key may be, and the commands as they are."""

from __future__ import annotations

from typing import get_args

import pytest

from controller.cli.verbs import VERBS
from controller.dialects.common_failures import OVERLAYS
from controller.model.overlay import FOLDER, Conflict, DirSource, GitSource, Mechanism, Overlay, PayloadFile, Source, Step, Tree
from tests.unit.test_docs import page, rows

PAGE = page("overlays")
TABLE = rows(PAGE.split("## Your own")[1])
CELLS = {key: " ".join(cells) for key, cells in TABLE.items()}


def test_the_page_has_every_key_of_a_record() -> None:
    """Given the model of a record, when its keys are looked up, then each has a row, and no row is left over."""
    parts = {"source.git", "source.dir", "files", "tree"}
    assert {name for name in TABLE if name not in parts} >= set(Overlay.model_fields)
    for name, cells in TABLE.items():
        for key in (name, *(cells[0].replace("`", "").replace(",", " ").split())):
            assert key in parts or key in Overlay.model_fields, key


@pytest.mark.parametrize(
    ("row", "model"),
    [("source", Source), ("source.git", GitSource), ("source.dir", DirSource), ("steps", Step), ("conflicts", Conflict)],
)
def test_rows_of_mappings_have_their_keys(row: str, model: type[Source]) -> None:
    """Given a key that is a mapping, when its row is read, then it names every key of the mapping."""
    for key in model.model_fields:
        assert key.rstrip("_") in CELLS[row], key


def test_files_and_trees() -> None:
    """Given single files and folders, when their row is read, then their keys and the usual place are there."""
    for key in (*PayloadFile.model_fields, *Tree.model_fields):
        assert key in CELLS["files"]
    assert f"`{FOLDER}/<id>/<path>`" in CELLS["files"]


def test_closed_words_are_listed() -> None:
    """Given a key of few words, when its row is read, then every word is there."""
    assert all(mechanism.value in CELLS["mechanism"] for mechanism in Mechanism)
    proven = get_args(Overlay.model_fields["load_bearing"].annotation)
    assert all(word in CELLS["load_bearing"] for word in proven)
    assert len(proven) == 3


def test_commands_and_reasons_are_the_real_ones() -> None:
    """Given the verbs and the failure of a step, when the page is read, then it has them as the program does."""
    assert all(f"steward {verb}" in PAGE for verb in VERBS if verb.startswith("overlays "))
    (failed,) = OVERLAYS
    assert f"`{failed.reason}: overlay X cannot be put on`" in PAGE
    assert failed.message.startswith("overlay {overlay} cannot be put on")
