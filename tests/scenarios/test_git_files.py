"""How files reach the controller: every way of saving is seen, and no moment of a save is ever acted on (git-01, 02, 03)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import require
from tests.docker.harness import Entry, Steward, free_port, until
from tests.scenarios.looking import accepted, condition, engines, kinds, newest, refused, throughout

pytestmark = pytest.mark.docker
HALF_S = 3.0
"""How long a half-written file lies there."""


def by_rename(path: Path, text: str) -> None:
    """As careful editors and configuration tools do."""
    fresh = path.with_name(".new")
    fresh.write_text(text)
    fresh.replace(path)


def by_backup(path: Path, text: str) -> None:
    """As vim does with a backup: the old file moves away, a new one is written in its place."""
    path.replace(path.with_name(f"{path.name}~"))
    path.write_text(text)


def in_place(path: Path, text: str) -> None:
    """As `>` of a shell does."""
    with path.open("r+") as file:
        file.truncate(0)
        file.write(text)


@pytest.mark.parametrize("estate", ["folder", "file"])
@pytest.mark.parametrize("save", [by_rename, by_backup, in_place])
def test_git_01_atomic_save(steward: Steward, save: Callable[[Path, str], None], estate: str) -> None:
    """Given a running controller, when its estate is saved twice in any manner, then both edits are in force soon."""
    port = free_port()
    if estate == "file":
        steward.more_env["STEWARD_ESTATE"] = str(steward.estate)
    steward.write(Entry("chat", port, more=("state: stopped",)))
    steward.start()
    accepted(steward)
    for tps in ("40", "50"):
        save(steward.estate, steward.text(Entry("chat", port, args=("--sim-tps", tps), more=("state: stopped",))))
        accepted(steward)
    save(steward.estate, steward.text(Entry("chat", port, args=("--sim-tps", "60"))))
    steward.ready("chat")
    assert "60" in steward.only("chat").attrs["Args"]


def test_git_01_mount_of_the_file_alone(steward: Steward, tmp_path: Path) -> None:
    """Given an estate mounted as a single file, when it is written in place, then it is seen; when replaced, that is told."""
    outside, inside = tmp_path / "outside" / "estate.yml", tmp_path / "inside" / "estate.yml"
    for path in (outside, inside):
        path.parent.mkdir()
        path.touch()
    probe = subprocess.run(["unshare", "-m", "mount", "--bind", str(outside), str(inside)], capture_output=True, check=False)
    require("mount", probe.returncode == 0, "mounts need root")
    port = free_port()
    outside.write_text(steward.text(Entry("chat", port, more=("state: stopped",))))
    steward.more_env["STEWARD_ESTATE"] = str(inside)
    script = 'mount --bind "$0" "$1" && exec "$2" -m controller.cli run'
    command = ["unshare", "-m", "sh", "-c", script, str(outside), str(inside), sys.executable]
    with (tmp_path / "steward.log").open("w") as log:
        steward.process = subprocess.Popen(command, env=steward.env(), stdout=log, stderr=log, text=True)
    until(lambda: _accepted(steward), "the first revision")
    first = _accepted(steward)
    in_place(outside, steward.text(Entry("chat", port, args=("--sim-tps", "40"), more=("state: stopped",))))
    until(lambda: _accepted(steward) != first, "the edit in place")
    second = _accepted(steward)
    by_rename(outside, steward.text(Entry("chat", port, args=("--sim-tps", "50"), more=("state: stopped",))))
    until(lambda: condition(steward, "SourceReady")["status"] == "False", "the replaced file to be told")
    assert "a mount of the file alone" in condition(steward, "SourceReady")["message"]
    assert _accepted(steward) == second


def _accepted(steward: Steward) -> str:
    try:
        return str(steward.status()["revision"]["accepted"])
    except OSError:
        return ""


def test_git_01_an_edit_is_acted_on_at_once(steward: Steward) -> None:
    """Given a quiet rig, when an edit asks for an image that was not needed before, then nothing waits for the next relist."""
    port = free_port()
    steward.write(Entry("chat", port, more=("state: stopped",)))
    steward.start()
    steward.converged()
    mark = newest(steward)
    steward.write(Entry("chat", port))
    steward.ready("chat")
    passes = [
        e["pass"] for e in steward.events() if e["sequence"] > mark and e["kind"] in ("RevisionAccepted", "ActionStarted")
    ]
    assert passes[0] == passes[1], "the pass that accepts the revision begins its first action"


def test_git_02_symlink_swap(steward: Steward) -> None:
    """Given an estate behind two symlinks, when the folder's link is swapped three times, then each swap is in force."""
    port, desired = free_port(), steward.estate.parent
    desired.mkdir()
    steward.estate.symlink_to("..data/estate.yml")

    def swap(number: int, *args: str) -> None:
        folder = desired / f"..{number}"
        folder.mkdir()
        (folder / "estate.yml").write_text(steward.text(Entry("chat", port, args=args)))
        fresh = desired / "..data.new"
        fresh.symlink_to(folder.name)
        fresh.replace(desired / "..data")

    swap(0)
    steward.start()
    steward.converged()
    for number in (1, 2, 3):
        swap(number, "--sim-tps", f"{number}00")
        shutil.rmtree(desired / f"..{number - 1}")
        steward.converged()
        assert f"{number}00" in steward.only("chat").attrs["Args"]


def test_git_02_symlink_swap_in_two_steps(steward: Steward) -> None:
    """Given a link that is removed and made anew, as old `ln -sfn` does, when that happens, then nothing is lost."""
    port, desired = free_port(), steward.estate.parent
    desired.mkdir()
    for number in range(4):
        text = steward.text(Entry("chat", port, more=(f"health: {{interval: {number + 1}s}}",)))
        (desired / f"..{number}").mkdir()
        (desired / f"..{number}" / "estate.yml").write_text(text)
    (desired / "..data").symlink_to("..0")
    steward.estate.symlink_to("..data/estate.yml")
    steward.start()
    steward.converged()
    before = engines(steward)
    for number in (1, 2, 3):
        (desired / "..data").unlink()
        if number == 2:
            refused(steward, "estate.yml")
        (desired / "..data").symlink_to(f"..{number}")
        accepted(steward)
    assert engines(steward) == before


@pytest.mark.timeout(240)
def test_git_03_half_written(steward: Steward) -> None:
    """Given three engines, when the file is half-written, empty or gone for a while, then none moves and one warning comes."""
    entries = [Entry(name, free_port()) for name in ("a", "b")]
    last = Entry("c", free_port())
    steward.write(*entries, last)
    steward.start()
    steward.converged()
    before, path = engines(steward), steward.estate
    good, whole = steward.text(*entries, last), steward.text(*entries, Entry("c", last.port, args=("--sim-tps", "99")))
    troubles: dict[str, Callable[[], object]] = {
        "60 %": lambda: in_place(path, whole[: len(whole) * 6 // 10]),
        "inside a word": lambda: in_place(path, whole[: whole.index("simulated/default", whole.index("name: c")) + 5]),
        "empty": lambda: os.truncate(path, 0),
        "gone": path.unlink,
        "an empty list": lambda: in_place(path, steward.text()),
    }
    for what, trouble in troubles.items():
        mark = newest(steward)
        trouble()
        until(lambda: _warnings(steward, mark), f"a warning about {what}")  # noqa: B023
        throughout(HALF_S, lambda: engines(steward) == before, f"{what}: an engine was touched")
        assert len(_warnings(steward, mark)) == 1, f"{what}: {_warnings(steward, mark)}"
        assert not {"ActionStarted", "PassFailed"} & set(kinds(steward, mark)), what
        steward.save(good)
        steward.converged()
        assert engines(steward) == before
    in_place(path, whole)
    steward.converged()
    assert {**engines(steward), "c": None} == {**before, "c": None}
    assert "99" in steward.only("c").attrs["Args"]


def _warnings(steward: Steward, after: int) -> list[str]:
    return [kind for kind in kinds(steward, after) if kind in ("RevisionRefused", "SourceUnreadable")]


@pytest.mark.timeout(240)
def test_git_03_half_written_yet_valid(steward: Steward) -> None:
    """Given a cut between two entries or inside the last number, when the rest comes seconds later, then no engine moved."""
    entries = [Entry(name, free_port()) for name in ("a", "b")]
    port = free_port()
    whole = steward.text(*entries, Entry("c", port)).rstrip("\n").replace(f"    port: {port}\n    gpus: []", "    gpus: []")
    whole += f"\n    port: {port}\n"
    steward.save(whole)
    steward.start()
    steward.converged()
    before, between = engines(steward), whole.index("  - name: c")
    other = steward.estate.with_name("other.yml")
    for what, cut in {"between two entries": between, "inside the last number": len(whole) - 2}.items():
        in_place(steward.estate, whole[:cut])
        until(lambda: not steward.status()["converged"], "the cut file to be read")
        throughout(HALF_S, lambda: engines(steward) == before, f"{what}: an engine was touched")
        in_place(steward.estate, whole)
        steward.converged()
    other.write_text(f"estate:\n{whole[between:]}")
    in_place(steward.estate, whole[:between])
    steward.converged()
    other.unlink()
    until(lambda: not steward.status()["converged"], "the missing file to be noticed")
    throughout(HALF_S, lambda: engines(steward) == before, "the file of c is gone: an engine was touched")
    other.write_text(f"estate:\n{whole[between:]}")
    steward.converged()
    assert engines(steward) == before
    steward.save(whole[:between])
    other.unlink()
    until(lambda: "c" not in engines(steward), "the removal that was meant")
