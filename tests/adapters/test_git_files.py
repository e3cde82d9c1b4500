"""Fetching the files of overlays from a repository: one commit, the named files, and nothing that is not recorded."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.git_files import GitFiles
from controller.errors import EnvironmentFault, SpecFault
from controller.model.overlay import GitSource
from controller.model.payload import part_of
from controller.settings import Bounds

NOBODY = ("-c", "user.name=nobody", "-c", "user.email=nobody@test", "-c", "init.defaultBranch=main")


@dataclass(frozen=True, slots=True)
class Repository:
    """A bare repository with two commits; the first one has the tag v1."""

    folder: Path
    first: str
    second: str

    def source(self, **keys: Any) -> GitSource:
        """A record's source in it."""
        return GitSource.model_validate({"url": f"file://{self.folder}", "commit": self.first, **keys})


def git(folder: Path, *words: str) -> str:
    """One command of git."""
    command = ["git", *NOBODY, "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository on this machine."""
    work = tmp_path / "work"
    (work / "fixes" / "deep").mkdir(parents=True)
    git(work, "init", "--quiet")
    (work / "fixes" / "a.py").write_text("one\n")
    (work / "fixes" / "deep" / "b.sh").write_text("sh\n")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "first")
    git(work, "tag", "v1")
    first = git(work, "rev-parse", "HEAD")
    (work / "fixes" / "a.py").write_text("two\n")
    (work / "fixes" / "link").symlink_to("/etc/passwd")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "second")
    git(tmp_path, "clone", "--quiet", "--bare", str(work), "bare.git")
    return Repository(tmp_path / "bare.git", first, git(work, "rev-parse", "HEAD"))


def file(path: str) -> dict[str, str]:
    """A recorded file."""
    return {"path": path, "sha256": part_of(path, b"").sha256}


def test_an_older_commit_is_fetched_by_its_id(repository: Repository) -> None:
    """Given a commit that is no branch's head, when it is fetched, then its files come as they were in it."""
    found = GitFiles(Bounds()).fetch(repository.source(files=[file("fixes/a.py"), file("fixes/deep/b.sh")]))
    assert found == {"fixes/a.py": b"one\n", "fixes/deep/b.sh": b"sh\n"}


def test_a_folder_is_fetched_whole(repository: Repository) -> None:
    """Given a tree at an abbreviated commit with its tag, when it is fetched, then paths begin in the folder."""
    source = repository.source(commit=repository.first[:10], ref="v1", tree={"path": "fixes", "target": "/opt/fixes"})
    assert GitFiles(Bounds()).fetch(source) == {"a.py": b"one\n", "deep/b.sh": b"sh\n"}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"files": [file("fixes/no.py")]}, "has no file fixes/no.py at commit"),
        ({"tree": {"path": "nowhere", "target": "/x"}}, "has no folder nowhere"),
        ({"commit": "0123456789", "ref": "v1", "tree": {"path": "fixes", "target": "/x"}}, "and the record says 0123456789"),
    ],
)
def test_what_the_commit_does_not_have(repository: Repository, keys: dict[str, Any], expected: str) -> None:
    """Given a record that the repository does not bear out, when it is fetched, then that is the record's fault."""
    with pytest.raises(SpecFault, match=expected):
        GitFiles(Bounds()).fetch(repository.source(**keys))


def test_a_link_out_of_the_repository_is_refused(repository: Repository) -> None:
    """Given a tree with a symlink, when it is fetched, then it is refused."""
    source = repository.source(commit=repository.second, tree={"path": "fixes", "target": "/x"})
    with pytest.raises(SpecFault, match="is a link or a repository"):
        GitFiles(Bounds()).fetch(source)


def test_files_have_a_bound(repository: Repository) -> None:
    """Given little room, when larger files are fetched, then they are refused."""
    small = replace(Bounds(), overlay_bytes=5)
    with pytest.raises(SpecFault, match="larger than"):
        GitFiles(small).fetch(repository.source(files=[file("fixes/a.py"), file("fixes/deep/b.sh")]))


@pytest.mark.parametrize("commit", ["0" * 40, None], ids=["no such commit", "no such repository"])
def test_a_repository_that_does_not_deliver(repository: Repository, tmp_path: Path, commit: str | None) -> None:
    """Given a commit or a repository that is not there, when it is fetched, then the surroundings are at fault."""
    keys: dict[str, Any] = {"commit": commit} if commit else {"url": f"file://{tmp_path}/no.git"}
    with pytest.raises(EnvironmentFault, match="git fetch of file://"):
        GitFiles(Bounds()).fetch(repository.source(files=[file("fixes/a.py")], **keys))
