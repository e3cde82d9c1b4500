"""The records of overlays that come with Steward: complete, true to each other, and with the files that they promise."""

from __future__ import annotations

import ast
import subprocess
from typing import Final

import pytest

from controller.model.document import Document
from controller.model.overlay import FOLDER, WRITING, Mechanism, Overlay
from controller.model.payload import Payload
from controller.model.snapshot import snapshot_of
from controller.settings import Bounds
from controller.sources.overlay_files import OverlayFiles
from tests.unit.profiles import ENGINES, ROOT, UPSTREAM, documents, parsed

RECORDS: Final = documents("overlays", Overlay)
ROWS: Final = {row.id: row for row in UPSTREAM.upstream}
BUILT_IN: Final = {name: overlay for name, overlay in RECORDS.items() if overlay.is_builtin}
UNAVAILABLE: Final = {
    "google-canonical-chat-template",
    "vllm-pr40391-v0.22.0",
    "vllm-pr48375-mamba-drop-eagle-block",
    "w4a8",
    "w4a8-int8-act",
}


def test_every_record_is_called_as_its_file() -> None:
    """Given the records, when they are counted, then all are there, each under its id, and no alias is an id."""
    assert [overlay.id for overlay in RECORDS.values()] == list(RECORDS)
    assert len(RECORDS) == 24
    aliases = [alias for overlay in RECORDS.values() for alias in overlay.aliases]
    assert len(set(aliases)) == len(aliases)
    assert not RECORDS.keys() & set(aliases)


def test_the_sources() -> None:
    """Given the records, when their sources are read, then three come with Steward, five have none, and the rest is fetched."""
    assert BUILT_IN.keys() == {
        "nvlink-autodetect", "vllm-pr40886-awq-moe-keys", "vllm-pr41800-truncate-prompt-tokens",
    }  # fmt: skip
    assert {name for name, overlay in RECORDS.items() if overlay.source == "unavailable"} == UNAVAILABLE
    assert sum(overlay.git is not None for overlay in RECORDS.values()) == 12


def test_what_is_not_recorded_is_left_open() -> None:
    """Given an overlay without a payload, when its record is read, then nothing is made up about it."""
    for name in UNAVAILABLE:
        overlay = RECORDS[name]
        assert (overlay.mechanism, overlay.sentinel, overlay.target_files) == (None, None, ())
    assert RECORDS["vllm-pr48375-mamba-drop-eagle-block"].rows == ("vllm-48375",)
    assert RECORDS["vllm-pr40391-v0.22.0"].rows == ("vllm-40391",)
    assert sum(RECORDS[name].upstream == "none" for name in UNAVAILABLE) == 3


def test_records_and_tracker_name_each_other() -> None:
    """Given the rows of a record and the overlays of a row, when they are looked up, then each is there."""
    assert [row for overlay in RECORDS.values() for row in overlay.rows if row not in ROWS] == []
    named = {(row.id, overlay) for row in ROWS.values() for overlay in row.workaround_overlays}
    assert [(row, overlay) for row, overlay in named if overlay not in RECORDS] == []
    assert {overlay for row, overlay in named if row not in RECORDS[overlay].rows} == {"genesis"}


def test_names_in_records_lead_somewhere() -> None:
    """Given engines, conflicts and requirements of records, when they are looked up, then each is known."""
    for overlay in RECORDS.values():
        assert {*overlay.needed_for, *overlay.redundant_for} <= ENGINES.keys(), overlay.id
        assert {conflict.with_ for conflict in overlay.conflicts} <= {*RECORDS, *ENGINES}, overlay.id
        assert set(overlay.requires) <= RECORDS.keys(), overlay.id


def test_conflicts_between_overlays_are_told_on_both_sides() -> None:
    """Given an overlay that does not go with another, when that one is read, then it says so too."""
    told = {(o.id, c.with_) for o in RECORDS.values() for c in o.conflicts if c.with_ in RECORDS}
    assert {(one, two) for one, two in told if (two, one) not in told} == set()


def test_mounted_files_are_the_ones_that_are_looked_at() -> None:
    """Given overlays that lie over files of the image, when mounts and targets are compared, then they are the same."""
    for overlay in RECORDS.values():
        if overlay.mechanism is Mechanism.FILE_MOUNTS:
            assert {overlay.place_of(file) for file in overlay.files} == set(overlay.target_files), overlay.id
        if overlay.mechanism in WRITING:
            assert not {overlay.place_of(file) for file in overlay.files} & set(overlay.target_files), overlay.id


def test_steps_run_files_that_are_mounted() -> None:
    """Given the steps of a record, when their paths are looked up, then each is a file of its payload."""
    for overlay in RECORDS.values():
        places = {overlay.place_of(file) for file in overlay.files}
        words = {word for step in overlay.steps for word in (*(step.run or ()), *((step.exports,) if step.exports else ()))}
        scripts = {word for word in words if word.startswith((FOLDER, "/etc/club3090", "/patches"))}
        assert scripts <= places, overlay.id


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_built_in_files_are_there_and_compile(name: str) -> None:
    """Given a built-in overlay, when its files are read, then all are there and have no syntax error."""
    overlay = BUILT_IN[name]
    record = Document(str(ROOT / "overlays" / f"{name}.yml"), None, "")
    found = OverlayFiles(snapshot_of(()), Bounds()).payload(overlay, record)
    assert isinstance(found, Payload)
    assert found.at_hand
    for part in found.parts:
        text = (part.data or b"").decode()
        if part.path.endswith(".py"):
            assert ast.parse(text).body
        else:
            assert subprocess.run(["sh", "-n"], input=text, text=True, check=False, timeout=30).returncode == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mechanism: mount", "`file_mounts`, `install_script`"),
        ("source: somewhere", "`none` or `unavailable`"),
        ("source: {git: {url: x, commit: abc}}", "an address that begins with https://"),
        ("source: {dir: {files: [{path: ../up}]}}", "a path within its folder"),
        ("source: {dir: {files: [{path: a, target: etc/a}]}}", "an absolute path in the container"),
        ("source: {dir: {}}", "either files or a tree"),
        ("source: {}", "exactly one of git, builtin and dir"),
        ("upstream: none", "upstream: none needs an upstream_reason"),
        ("sentinel: here", "a sentinel needs the target_files"),
        ("mechanism: install_script", "mechanism install_script needs steps"),
        ("steps: [{}]", "either run, with a program and its arguments, or exports"),
        ("conflicts: [{with: x, kind: hates}]", "`shared_file`, `exclusive`"),
        ("order: 1001", "from 0 to 1000"),
        ("mechanism: null", "without a mechanism is one whose source is unavailable"),
        ("sentinal: x", "did you mean `sentinel`?"),
    ],
)
def test_a_wrong_record_is_told_with_what_was_expected(text: str, expected: str) -> None:
    """Given a mistake in a record, when it is checked, then the problem says what was expected there."""
    key = text.partition(":")[0]
    lines = ["id: x", "title: x", "mechanism: env", "source: none", "upstream: []"]
    whole = [*(line for line in lines if not line.startswith(f"{key}:")), text, ""]
    found = parsed(Overlay, "x.yml", "\n".join(whole).encode())
    assert isinstance(found, tuple), text
    assert any(expected in f"{problem.message} {problem.hint}" for problem in found), found
