"""The estate on disk: which files belong to it, and that a moment of trouble never looks like an empty estate."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from controller.model.problem import Problem
from controller.model.snapshot import Snapshot
from controller.settings import Bounds
from controller.sources.file_source import FileSource

BOUNDS = Bounds()


def write(path: Path, text: str = "estate: []\n") -> Path:
    """A file with all its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def snapshot(estate: Path, bounds: Bounds = BOUNDS) -> Snapshot:
    """What is read, which must be a snapshot."""
    found = FileSource(estate, bounds).read()
    assert isinstance(found, Snapshot), found
    return found


def problem(estate: Path, bounds: Bounds = BOUNDS) -> Problem:
    """The one problem of an estate that cannot be read."""
    found = FileSource(estate, bounds).read()
    assert not isinstance(found, Snapshot)
    (one,) = found
    assert one.rule == "source"
    return one


def keys(found: Snapshot) -> list[str]:
    """The keys of all files."""
    return [file.key for file in found.files]


def test_a_folder_is_all_its_yaml_files_in_name_order(tmp_path: Path) -> None:
    """Given a folder with files of all sorts, when read, then the visible YAML files at its top are the estate."""
    for name in ("b.yml", "a.yaml", ".hidden.yml", "notes.txt", "c.yml~", "sub/d.yml"):
        write(tmp_path / "rig" / name)
    found = snapshot(tmp_path / "rig")
    assert keys(found) == ["estate/a.yaml", "estate/b.yml"]
    assert found.files[0].path == str(tmp_path / "rig" / "a.yaml")
    assert found.files[0].data == b"estate: []\n"


def test_one_file_is_an_estate(tmp_path: Path) -> None:
    """Given a file, whatever its name, when it is the estate, then it alone is read."""
    write(tmp_path / "other.yml")
    assert keys(snapshot(write(tmp_path / "my.conf"))) == ["estate/my.conf"]


def test_paths_are_shown_as_they_were_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a relative estate, when read, then the paths of all files are relative too, also from inside of its folder."""
    write(tmp_path / "desired" / "estate.yml")
    write(tmp_path / "composes" / "x.yml")
    monkeypatch.chdir(tmp_path)
    assert [file.path for file in snapshot(Path("desired")).files] == ["composes/x.yml", "desired/estate.yml"]
    monkeypatch.chdir(tmp_path / "desired")
    assert keys(snapshot(Path())) == ["composes/x.yml", "estate/estate.yml"]


def test_the_repository_around_a_folder_called_desired_belongs_to_it(tmp_path: Path) -> None:
    """Given `desired/` among catalogue folders, when read, then their documents are in the snapshot, overlays of any kind."""
    write(tmp_path / "desired" / "estate.yml")
    for name in (
        "composes/vllm/dual.yml",
        "composes/README.md",
        "profiles/engines/mine.yaml",
        "profiles/.git/x.yml",
        "overlays/fix/patch.py",
        "overlays/fix/patch.py~",
        "secrets/token.yml",
    ):
        write(tmp_path / name)
    expected = ["composes/vllm/dual.yml", "estate/estate.yml", "overlays/fix/patch.py", "profiles/engines/mine.yaml"]
    assert keys(snapshot(tmp_path / "desired")) == expected
    assert keys(snapshot(tmp_path / "desired" / "estate.yml")) == expected


def test_no_other_folder_name_makes_a_repository(tmp_path: Path) -> None:
    """Given an estate folder of another name, when read, then the folders beside it do not count."""
    write(tmp_path / "estate" / "estate.yml")
    write(tmp_path / "composes" / "x.yml")
    assert keys(snapshot(tmp_path / "estate")) == ["estate/estate.yml"]


def test_the_revision_is_of_the_content(tmp_path: Path) -> None:
    """Given the same files at two places, when read, then the revisions are equal; another byte anywhere makes another."""
    for place in ("one", "two"):
        write(tmp_path / place / "desired" / "estate.yml")
        write(tmp_path / place / "composes" / "x.yml", "x: 1\n")
    first, second = (snapshot(tmp_path / place / "desired").revision for place in ("one", "two"))
    assert first == second
    write(tmp_path / "two" / "composes" / "x.yml", "x: 2\n")
    assert snapshot(tmp_path / "two" / "desired").revision != first


def test_a_missing_estate_says_what_to_do(tmp_path: Path) -> None:
    """Given nothing at the path, when read, then the problem names it and the way to have one."""
    found = problem(tmp_path / "desired")
    assert found.message == f"there is no estate at {tmp_path / 'desired'}"
    assert "steward init" in found.hint


def test_a_folder_without_estate_files_is_no_empty_estate(tmp_path: Path) -> None:
    """Given a folder without a YAML file, when read, then it is a problem."""
    write(tmp_path / "desired" / ".estate.yml")
    assert "no estate file in the folder" in problem(tmp_path / "desired").message


def test_a_file_that_points_nowhere_is_no_missing_file(tmp_path: Path) -> None:
    """Given two files of which one is just being swapped, when read, then it is a problem, not an estate of the other."""
    write(tmp_path / "a.yml")
    (tmp_path / "b.yml").symlink_to(tmp_path / "gone.yml")
    found = problem(tmp_path)
    assert found.message == f"{tmp_path / 'b.yml'} vanished while it was read"


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "large"])
def test_what_is_no_readable_file_is_named(tmp_path: Path, kind: str) -> None:
    """Given something odd with the name of an estate file, when read, then the problem names it, and nothing waits."""
    write(tmp_path / "a.yml")
    odd = tmp_path / "b.yml"
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "folder":
        odd.mkdir()
    elif kind == "loop":
        odd.symlink_to(odd)
    else:
        odd.write_bytes(b"#" * (BOUNDS.estate_file + 1))
    found = problem(tmp_path)
    assert str(odd) in found.message
    assert found.hint


def test_a_broken_document_of_the_repository_is_trouble_too(tmp_path: Path) -> None:
    """Given a template that points nowhere, when read, then the built-in one does not silently take its place."""
    write(tmp_path / "desired" / "estate.yml")
    (tmp_path / "composes").mkdir()
    (tmp_path / "composes" / "x.yml").symlink_to(tmp_path / "gone.yml")
    assert "x.yml vanished" in problem(tmp_path / "desired").message


def test_a_catalogue_folder_that_points_nowhere_is_trouble(tmp_path: Path) -> None:
    """Given a swapped folder, when its link dangles, then it is a problem and not a repository without documents."""
    write(tmp_path / "desired" / "estate.yml")
    (tmp_path / "composes").symlink_to(tmp_path / "gone")
    assert "composes cannot be read: no such file" in problem(tmp_path / "desired").message


def test_symlinks_are_followed_and_loops_end(tmp_path: Path) -> None:
    """Given links to files and folders and one back up, when read, then each document is found once and reading ends."""
    write(tmp_path / "elsewhere" / "estate.yml", "estate: [] # linked\n")
    write(tmp_path / "shared" / "x.yml")
    (tmp_path / "desired").mkdir()
    (tmp_path / "desired" / "estate.yml").symlink_to("../elsewhere/estate.yml")
    (tmp_path / "composes").mkdir()
    (tmp_path / "composes" / "a").symlink_to("../shared")
    (tmp_path / "composes" / "up").symlink_to(".")
    (tmp_path / "composes" / "higher").symlink_to("..")
    found = keys(snapshot(tmp_path / "desired"))
    assert "composes/a/x.yml" in found
    assert not any("up/a" in key or "higher/composes" in key for key in found)


def test_files_and_bytes_are_bounded(tmp_path: Path) -> None:
    """Given small bounds, when a folder passes them, then the problem names the bound."""
    for number in range(5):
        write(tmp_path / f"{number}.yml", "#" * 90 + "\n")
    assert "more than 4 files for `estate`" in problem(tmp_path, replace(BOUNDS, estate_files=4)).message
    assert "is larger than" in problem(tmp_path, replace(BOUNDS, estate_file=50)).message
    for number in range(20):
        write(tmp_path / f"{number}.yml", "#" * 90 + "\n")
    assert "together" in problem(tmp_path, replace(BOUNDS, estate_file=100)).message


def test_links_that_lead_everywhere_are_bounded(tmp_path: Path) -> None:
    """Given folders that all link to each other, when read, then the walk ends with a problem."""
    write(tmp_path / "desired" / "estate.yml")
    folders = [tmp_path / "composes" / f"f{number}" for number in range(8)]
    for folder in folders:
        folder.mkdir(parents=True)
    for folder in folders:
        for other in folders:
            (folder / f"to-{other.name}").symlink_to(other)
    assert "folders below" in problem(tmp_path / "desired").message


def test_names_that_are_not_text_are_refused(tmp_path: Path) -> None:
    """Given a file name that is not UTF-8, when read, then the problem can be printed."""
    write(tmp_path / "a.yml")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yml")).write_text("estate: []\n")
    found = problem(tmp_path)
    assert found.message.encode()
    assert "not UTF-8" in found.message


def test_paths_that_no_system_takes(tmp_path: Path) -> None:
    """Given a path that is too long or holds a NUL, when read, then it is a problem, no exception."""
    assert "cannot be read: file name too long" in problem(tmp_path / ("x" * 300)).message
    assert "cannot be used" in problem(Path("a\0b")).message


def test_swapped_folders_are_never_mixed(tmp_path: Path) -> None:
    """Given two files behind one link that is swapped all the time, when read, then both are always of the same swap."""
    for version in ("one", "two"):
        for name in ("a.yml", "b.yml"):
            write(tmp_path / version / name, f"# {version}\n")
    link = tmp_path / "desired"
    link.symlink_to("one")
    done = threading.Event()

    def swap() -> None:
        for turn in range(400):
            fresh = tmp_path / "fresh"
            fresh.symlink_to(("one", "two")[turn % 2])
            fresh.replace(link)
        done.set()

    writer = threading.Thread(target=swap)
    writer.start()
    seen = set()
    while not done.is_set():
        found = FileSource(link, BOUNDS).read()
        if isinstance(found, Snapshot):
            contents = {file.data for file in found.files}
            assert len(contents) == 1
            assert len(found.files) == 2
            seen |= contents
    writer.join(30)
    assert seen <= {b"# one\n", b"# two\n"}
    assert isinstance(FileSource(link, BOUNDS).read(), Snapshot)


def test_what_is_watched_follows_the_disk(tmp_path: Path) -> None:
    """Given an estate in a repository, when a catalogue folder comes, then the next look at what is watched has it."""
    write(tmp_path / "desired" / "estate.yml")
    watched = FileSource(tmp_path / "desired", BOUNDS).watched()
    assert list(watched) == [tmp_path / name for name in ("desired", "profiles", "composes", "overlays")]
    write(tmp_path / "composes" / "vllm" / "x.yml")
    assert tmp_path / "composes" / "vllm" in list(watched)
    assert list(FileSource(tmp_path / "alone.yml", BOUNDS).watched()) == [tmp_path / "alone.yml"]
