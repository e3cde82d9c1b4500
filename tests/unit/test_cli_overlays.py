"""`steward overlays` in a folder of its own: list, fetch from a local repository, check, and what validate says meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.test_git_files import Repository, file, git, repository
from tests.unit.cli import Steward

__all__ = ["repository"]

OWN = "id: own\ntitle: A script of ours\nmechanism: install_script\nsource: {dir: {files: [{path: own.sh}]}}\n"
OWN += "upstream: none\nupstream_reason: it is ours\nsteps: [{run: [sh, /etc/steward/overlays/own/own.sh]}]\n"
ESTATE = "estate: [{name: chat, compose: vllm/generic, gpus: [0], port: 8010, set: {model_path: m}, overlays: [fix, own]}]\n"


@pytest.fixture
def shelf(steward: Steward, repository: Repository) -> Steward:
    """An estate with an overlay to fetch and one of the user's own."""
    overlays = steward.folder / "overlays"
    (overlays / "own").mkdir(parents=True)
    (overlays / "own" / "own.sh").write_text("true\n")
    (overlays / "own.yml").write_text(OWN)
    write_fix(steward, repository, sha=sha_of("one\n"))
    steward.write(ESTATE)
    return steward


def sha_of(text: str) -> str:
    """The digest that a record has of a text."""
    from controller.model.payload import part_of

    return part_of("", text.encode()).sha256


def write_fix(steward: Steward, repository: Repository, sha: str) -> None:
    """The record of an overlay in the local repository."""
    recorded = {**file("fixes/a.py"), "sha256": sha, "target": "/opt/a.py"}
    source = {"git": {"url": f"file://{repository.folder}", "commit": repository.first, "files": [recorded]}}
    text = f"id: fix\ntitle: A fix\nmechanism: file_mounts\nsource: {json.dumps(source)}\nupstream: [vllm-41800]\n"
    (steward.folder / "overlays" / "fix.yml").write_text(text)


def listed(steward: Steward, *more: str) -> dict[str, Any]:
    """`overlays list` as JSON, by overlay."""
    document = json.loads(steward("overlays", "list", "--rig", "1x:rtx-3090", "--output", "json", *more).out)
    return {overlay["id"]: overlay for overlay in document["overlays"]}


def test_what_is_missing_is_a_warning_until_it_is_fetched(shelf: Steward) -> None:
    """Given an overlay that was not fetched, when the command that is named is run, then validate has nothing more to say."""
    before = shelf("validate", "--rig", "1x:rtx-3090")
    assert before.code == 0
    assert "warning: chat: the files of overlay fix are not there [OverlayPayloadMissing]" in before.out
    assert "run `steward overlays fetch fix`" in before.out
    fetched = shelf("overlays", "fetch", "fix")
    assert (fetched.code, fetched.out) == (0, "fix: fetched\n")
    assert shelf("overlays", "fetch", "fix").out == "fix: there\n"
    assert "OverlayPayloadMissing" not in shelf("validate", "--rig", "1x:rtx-3090").out


def test_without_names_the_estates_overlays_are_fetched(shelf: Steward) -> None:
    """Given an estate with two overlays, when nothing is named, then both are brought, and the folder's files are copied."""
    assert shelf("overlays", "fetch", "--rig", "1x:rtx-3090").out == "fix: fetched\nown: fetched\n"
    state = listed(shelf)
    assert (state["fix"]["files"], state["own"]["files"]) == ("fetched", "at hand")
    assert shelf("overlays", "check", "--rig", "1x:rtx-3090").code == 0


def test_another_content_than_the_recorded_one_is_refused(shelf: Steward, repository: Repository) -> None:
    """Given a record with another digest, when it is fetched, then nothing is kept and it is the record that is named."""
    write_fix(shelf, repository, sha=sha_of("other\n"))
    ended = shelf("overlays", "fetch", "fix")
    assert ended.code == 1
    assert "fixes/a.py is not the file that was recorded" in ended.err
    assert listed(shelf)["fix"]["files"] == "missing"


def test_a_repository_that_is_away_is_exit_3(shelf: Steward, repository: Repository) -> None:
    """Given a repository that cannot be reached, when it is fetched, then the environment is at fault."""
    repository.folder.rename(repository.folder.with_name("gone"))
    ended = shelf("overlays", "fetch", "fix")
    assert ended.code == 3
    assert "fix: git fetch of file://" in ended.err


def test_names_that_do_not_exist(shelf: Steward) -> None:
    """Given a misspelt overlay, engine, or an image without engine, when listed or fetched, then the usage error helps."""
    assert "did you mean `fix`?" in shelf("overlays", "fetch", "fixx").err
    assert "did you mean `vllm-stable`?" in shelf("overlays", "list", "--engine", "vllm-stabel").err
    ended = shelf("overlays", "list", "--image", "a:1")
    assert (ended.code, "--image needs --engine" in ended.err) == (64, True)


def test_the_list_shows_what_is_on(shelf: Steward) -> None:
    """Given an estate, when its overlays are listed, then each has the instances, the need with its reason, and its state."""
    fix = listed(shelf)["fix"]
    assert fix["active"] == ["chat"]
    assert fix["needs"] == {"vllm-generic": {"need": "redundant", "why": "the build has vllm-41800"}}
    assert (fix["droppable_since"], fix["files"], fix["blocked_on"]) == ("0.22.0", "missing", [])


def test_the_list_shows_what_an_image_changes(steward: Steward) -> None:
    """Given an engine and another image, when overlays are listed, then those that change their standing are told."""
    steward.write("estate: []\n")
    words = ("overlays", "list", "--rig", "1x:rtx-3090", "--engine", "vllm-nightly-mtp", "--image", "vllm/vllm-openai:v0.24.0")
    out = steward(*words).out
    assert "vllm-marlin-pad: redundant (the build has vllm-40361)" in out
    assert "WITH THE IMAGE" in out
    assert "nvlink-autodetect" not in out


def test_an_estate_that_is_not_valid_is_said(steward: Steward) -> None:
    """Given an estate with an error, when overlays are listed, then the catalogue's are, and it is said what is not known."""
    steward.write("estate: [{name: chat}]\n")
    ended = steward("overlays", "list", "--rig", "1x:rtx-3090")
    assert "which overlays are on is not known" in ended.err
    assert "genesis" in ended.out
    assert steward("overlays", "fetch", "--rig", "1x:rtx-3090").code == 64


def test_check_finds_changed_files_and_rows_that_are_not_there(shelf: Steward, repository: Repository) -> None:
    """Given a kept file that was changed and a record without its row, when checked, then both are errors at their records."""
    shelf("overlays", "fetch", "fix")
    (kept,) = (Path(path) for path in shelf.folder.rglob("a.py") if "overlays" in str(path))
    kept.chmod(0o644)
    kept.write_text("x")
    (shelf.folder / "overlays" / "own.yml").write_text(OWN.replace("upstream: none\n", "upstream: [vllm-1]\n"))
    ended = shelf("overlays", "check", "--rig", "1x:rtx-3090")
    assert ended.code == 1
    assert "a.py was changed after it was written" in ended.out
    assert "own.yml:5:12: error: the upstream tracker has no row vllm-1" in ended.out


def test_a_new_commit_of_the_repository_changes_nothing(shelf: Steward, repository: Repository) -> None:
    """Given a fetched overlay, when its repository moves on, then what was fetched stays and is still right."""
    shelf("overlays", "fetch", "fix")
    work = repository.folder.with_name("work")
    git(work, "push", "--quiet", "--force", str(repository.folder), "HEAD:main")
    assert shelf("overlays", "fetch", "fix").out == "fix: there\n"
