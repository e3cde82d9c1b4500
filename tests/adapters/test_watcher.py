"""The file watcher on real file events: every way of saving wakes, reading does not, and its failure is told."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.settings import Bounds
from controller.sources.file_source import FileSource
from controller.sources.watched_folders import concerns, folders_of
from controller.sources.watcher import FileWatcher

PATIENCE_S = 10.0
QUIET_S = 0.3


class Bell:
    """Counts wake-ups; implements ports.Wakeups."""

    def __init__(self) -> None:
        """Start silent."""
        self._rung = threading.Condition()
        self._count = 0

    def wake(self, trigger: str) -> None:
        """Ring."""
        assert trigger == "file"
        with self._rung:
            self._count += 1
            self._rung.notify_all()

    def rings(self) -> bool:
        """Whether it rings in time; then wait until it is quiet again."""
        with self._rung:
            rang = self._rung.wait_for(lambda: self._count > 0, PATIENCE_S)
        self.settle()
        return rang

    def settle(self) -> None:
        """Wait until nothing more comes, and forget what came."""
        with self._rung:
            before = -1
            while before != self._count:
                before = self._count
                self._rung.wait(QUIET_S)
            self._count = 0

    def silent(self) -> bool:
        """Whether nothing comes for a while."""
        with self._rung:
            return not self._rung.wait_for(lambda: self._count > 0, QUIET_S)


@contextmanager
def watching(path: Path) -> Iterator[Bell]:
    """A started watcher over what a file source watches."""
    bell = Bell()
    watcher = FileWatcher(FileSource(path, Bounds()).watched(), bell)
    watcher.start()
    try:
        assert watcher.problem is None
        yield bell
    finally:
        watcher.stop()


def replace(path: Path, text: str) -> None:
    """Save the way editors do: write a temporary file, then rename it."""
    fresh = path.with_name("fresh.tmp")
    fresh.write_text(text)
    fresh.replace(path)


def test_each_atomic_save_of_a_single_file_wakes(tmp_path: Path) -> None:
    """Given one file as the estate, when it is replaced by rename several times, then each time wakes."""
    estate = tmp_path / "estate.yml"
    estate.write_text("estate: []\n")
    with watching(estate) as bell:
        for turn in range(3):
            replace(estate, f"estate: [] # {turn}\n")
            assert bell.rings()


def test_writing_deleting_and_recreating_wake(tmp_path: Path) -> None:
    """Given an estate folder, when a file is written in place, removed, and made again, then each wakes."""
    file = tmp_path / "desired" / "estate.yml"
    file.parent.mkdir()
    file.write_text("estate: []\n")
    with watching(file.parent) as bell:
        file.write_text("estate: [] # 1\n")
        assert bell.rings()
        file.unlink()
        assert bell.rings()
        file.write_text("estate: []\n")
        assert bell.rings()


def test_each_swap_of_a_linked_folder_wakes(tmp_path: Path) -> None:
    """Given `estate.yml -> ..data/estate.yml` when `..data` is swapped and the old folder deleted, then each swap wakes."""
    desired = tmp_path / "desired"
    desired.mkdir()
    (tmp_path / "dir0").mkdir()
    (tmp_path / "dir0" / "estate.yml").write_text("estate: []\n")
    (desired / "..data").symlink_to(tmp_path / "dir0")
    (desired / "estate.yml").symlink_to("..data/estate.yml")
    with watching(desired) as bell:
        for turn in range(1, 4):
            folder = tmp_path / f"dir{turn}"
            folder.mkdir()
            (folder / "estate.yml").write_text(f"estate: [] # {turn}\n")
            (desired / "..fresh").symlink_to(folder)
            (desired / "..fresh").replace(desired / "..data")
            for old in ((tmp_path / f"dir{turn - 1}" / "estate.yml").unlink, (tmp_path / f"dir{turn - 1}").rmdir):
                old()
            assert bell.rings()
            (folder / "estate.yml").write_text(f"estate: [] # {turn} in place\n")
            assert bell.rings()


def test_a_folder_that_comes_later_is_watched(tmp_path: Path) -> None:
    """Given no estate folder yet, when it is made, removed and made again, then changes in it wake each time."""
    desired = tmp_path / "desired"
    with watching(desired) as bell:
        for _ in range(2):
            desired.mkdir()
            assert bell.rings()
            (desired / "estate.yml").write_text("estate: []\n")
            assert bell.rings()
            (desired / "estate.yml").unlink()
            desired.rmdir()
            assert bell.rings()


def test_new_catalogue_folders_are_watched(tmp_path: Path) -> None:
    """Given a repository without templates, when one comes in new folders and changes, then both wake."""
    (tmp_path / "desired").mkdir()
    (tmp_path / "desired" / "estate.yml").write_text("estate: []\n")
    with watching(tmp_path / "desired") as bell:
        folder = tmp_path / "composes" / "vllm"
        folder.mkdir(parents=True)
        assert bell.rings()
        (folder / "x.yml").write_text("a: 1\n")
        assert bell.rings()


def test_reading_and_strangers_do_not_wake(tmp_path: Path) -> None:
    """Given a watched estate, when it is read and its neighbours change, then nothing wakes: else the loop would never rest."""
    desired = tmp_path / "desired"
    desired.mkdir()
    (desired / "estate.yml").write_text("estate: []\n")
    with watching(desired) as bell:
        bell.settle()
        for _ in range(3):
            FileSource(desired, Bounds()).read()
        (tmp_path / "unrelated.txt").write_text("x")
        (desired / ".estate.yml.swp").write_text("x")
        assert bell.silent()
        (desired / "estate.yml").write_text("estate: [] # changed\n")
        assert bell.rings()


def test_without_inotify_it_says_so_and_goes_on(tmp_path: Path) -> None:
    """Given no descriptors left for file events, when started, then nothing is raised and the reason is there."""
    handle = os.open(tmp_path, os.O_RDONLY)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    watcher = FileWatcher([tmp_path], Bell())
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (handle, hard))
        watcher.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(handle)
        watcher.stop()
    assert watcher.problem is not None
    assert "changes are found by polling" in watcher.problem


def test_stopping_is_quick_and_may_be_repeated(tmp_path: Path) -> None:
    """Given a watcher, when it is stopped twice or was never started, then it ends at once."""
    FileWatcher([tmp_path], Bell()).stop()
    watcher = FileWatcher([tmp_path], Bell())
    watcher.start()
    began = time.monotonic()
    watcher.stop()
    watcher.stop()
    assert time.monotonic() - began < 2.0


def test_the_folders_of_a_linked_path(tmp_path: Path) -> None:
    """Given a file behind two links, when asked, then each link and the file are watched by name where they stand."""
    real = tmp_path.resolve()
    (real / "data").mkdir()
    (real / "data" / "estate.yml").write_text("x")
    (real / "links").mkdir()
    (real / "links" / "current").symlink_to("../data")
    (real / "estate.yml").symlink_to("links/current/estate.yml")
    found = folders_of([real / "estate.yml"])
    assert found == {
        str(real): frozenset({"estate.yml"}),
        str(real / "links"): frozenset({"current"}),
        str(real / "data"): frozenset({"estate.yml"}),
    }
    assert concerns(found, str(real / "data" / "estate.yml"))
    assert concerns(found, str(real / "data"))
    assert not concerns(found, str(real / "data" / "other.yml"))
    assert not concerns(found, str(real / "elsewhere" / "estate.yml"))


def test_links_without_end_and_missing_paths(tmp_path: Path) -> None:
    """Given a link to itself, and a path of which nothing exists, when asked, then the search ends at what there is."""
    real = tmp_path.resolve()
    (real / "loop").symlink_to("loop")
    assert folders_of([real / "loop" / "x"]) == {str(real): frozenset({"loop"})}
    assert folders_of([real / "no" / "such" / "path"]) == {str(real): frozenset({"no"})}
