"""What YAML does to people (git-05 to 08): every file is refused with its place, or means what it says; nothing is guessed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scenarios.yaml_inputs import BASE, FILES, Bad, with_lines

LIMIT_S = 20.0
MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `steward validate` said, as JSON and as text."""

    code: int
    problems: list[dict[str, Any]]
    text: str


def validate(folder: Path, **files: bytes | str) -> Verdict:
    """Run `steward validate` on a folder with these files (`estate` for `estate.yml`), with little time and memory."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.yml").write_bytes(content if isinstance(content, bytes) else content.encode())
    told = _steward(folder, "--output", "json")
    document = json.loads(told.stdout)
    assert document["valid"] is (told.returncode == 0)
    return Verdict(told.returncode, document["problems"], told.stderr)


def _steward(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "controller.cli", "validate", "--estate", str(folder), "--rig", "2x:rtx-3090", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, preexec_fn=_poor)


def _poor() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("bad", FILES, ids=lambda bad: bad.name)
def test_git_05_to_08_bad_files_are_refused_with_their_place(tmp_path: Path, bad: Bad) -> None:
    """Given a file as people really write them, when it is validated, then one problem says where, what and what to do."""
    found = validate(tmp_path / "desired", estate=bad.content)
    assert found.code == 1
    assert found.text == ""
    places = [(p["line"], p["column"]) for p in found.problems]
    assert places == list(bad.places)
    for problem in found.problems:
        assert problem["file"] == str(tmp_path / "desired" / "estate.yml")
        assert "\n" not in problem["message"]
        assert len(problem["message"]) < 250
    said = "\n".join(f"{p['path']} {p['message']} {p['hint']}" for p in found.problems)
    assert all(words in said for words in bad.words), said


def test_git_05_one_name_in_two_files(tmp_path: Path) -> None:
    """Given an instance name in two files, when validated, then the second place is marked and the first one is named."""
    other = "estate:\n  - {name: other, compose: simulated/default, gpus: [], port: 8011}\n"
    twice = f"{other}  - {{name: chat, compose: simulated/default, gpus: [], port: 8012}}\n"
    found = validate(tmp_path / "desired", a=BASE, b=twice)
    (problem,) = found.problems
    assert (problem["file"], problem["line"]) == (str(tmp_path / "desired" / "b.yml"), 3)
    assert f"{tmp_path}/desired/a.yml:2:" in problem["message"]


def test_git_05_text_output_is_a_place_that_editors_follow(tmp_path: Path) -> None:
    """Given a duplicate key, when validated for people, then the first line is file:line:column and both lines are named."""
    folder = tmp_path / "desired"
    folder.mkdir()
    (folder / "estate.yml").write_text(with_lines("port: 8011"))
    told = _steward(folder)
    assert told.returncode == 1
    first = f"{folder}/estate.yml:6:5: error: the key `port` stands on line 5 and on line 6"
    assert told.stdout.startswith(first)
    assert "Traceback" not in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("env: {ANSWER: yes}", "ANSWER", "yes"),
        ("env: {ANSWER: NO}", "ANSWER", "NO"),
        ("env: {on: off}", "on", "off"),
        ("env: {TIME: 1:59}", "TIME", "1:59"),
        ("env: {MODE: 0644}", "MODE", "0644"),
        ("env: {SINCE: 2026-01-01}", "SINCE", "2026-01-01"),
        ("env: {FLAG: true}", "FLAG", "true"),
        ("env: {NUMBER: 12}", "NUMBER", "12"),
        ('env: {VERSION: "1.10"}', "VERSION", "1.10"),
    ],
)
def test_git_06_and_07_text_reaches_the_container_as_it_was_written(tmp_path: Path, line: str, name: str, value: str) -> None:
    """Given text that YAML 1.1 takes for a number, a date or a truth, when rendered, then the container has that text."""
    assert rendered(tmp_path / "desired", line)["environment"] == {name: value}


@pytest.mark.parametrize("line", ["set: {served_name: NO}", "served_names: [NO]"])
def test_git_06_a_model_called_no(tmp_path: Path, line: str) -> None:
    """Given a model whose name YAML 1.1 takes for false, when rendered, then the engine is called so."""
    command = rendered(tmp_path / "desired", line)["command"]
    assert command[command.index("--served-model-name") + 1] == "NO"


def rendered(folder: Path, line: str) -> dict[str, Any]:
    """The engine's service as `steward render` prints it, read by another reader of YAML."""
    folder.mkdir()
    (folder / "estate.yml").write_text(with_lines(line))
    command = [sys.executable, "-m", "controller.cli", "render", "chat", "--estate", str(folder), "--rig", "2x:rtx-3090"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    found: dict[str, Any] = yaml.safe_load(told.stdout)["services"]["engine"]
    return found


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbf" + BASE.encode(), BASE.replace("\n", "\r\n").encode(), BASE.rstrip().encode()]
)
def test_git_08_files_of_other_editors_are_read(tmp_path: Path, content: bytes) -> None:
    """Given a file with a BOM, with CRLF, or without a last line break, when validated, then nothing is wrong with it."""
    assert validate(tmp_path / "desired", estate=content) == Verdict(0, [], "")
