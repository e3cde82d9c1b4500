"""Files of a repository at one commit, through the `git` program: nothing but that commit is fetched, and nothing is run."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controller.errors import EnvironmentFault, SpecFault
from controller.model.overlay import GitSource
from controller.settings import Bounds

_FULL: Final = 40
_SETTINGS: Final = (
    "GIT_TERMINAL_PROMPT=0",
    "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file",
    "GIT_ASKPASS=false",
    "LC_ALL=C",
)
"""No question to a terminal that nobody sits at, and no transport that is a program of its own."""
_REGULAR: Final = (b"100644", b"100755")
_SENTENCE: Final = 400


@dataclass(frozen=True, slots=True)
class GitFiles:
    """Fetches what a record names."""

    bounds: Bounds

    def fetch(self, source: GitSource) -> dict[str, bytes]:
        """The files by their paths in the payload; raises EnvironmentFault, or SpecFault where the repository has them not."""
        with tempfile.TemporaryDirectory(prefix="steward-overlay-") as folder:
            checkout = _Checkout(Path(folder), source, self.bounds)
            checkout.fetch()
            return dict(checkout.files())


@dataclass(frozen=True, slots=True)
class _Checkout:
    """A repository with one commit and no working tree."""

    folder: Path
    source: GitSource
    bounds: Bounds

    def fetch(self) -> None:
        """Bring the commit; without the contents of files where only some are wanted."""
        self._git("init", "--quiet")
        self._git("remote", "add", "origin", self.source.url)
        partial = () if self.source.tree else ("--filter=blob:none",)
        wanted = self.source.commit if len(self.source.commit) == _FULL else self.source.ref or ""
        self._git("fetch", "--quiet", "--depth=1", "--no-tags", *partial, "origin", wanted)
        found = self._git("rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        if not found.startswith(self.source.commit):
            message = f"{self.source.ref} of {self.source.url} is commit {found[:12]}, and the record says {self.source.commit}"
            raise SpecFault(message)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """The contents of the wanted files, within the bounds."""
        room = self.bounds.overlay_bytes
        for count, (path, name) in enumerate(self._names(), start=1):
            data = self._content(name, room)
            room -= len(data)
            if count > self.bounds.overlay_files:
                raise SpecFault(f"{self.source.url} has more than {self.bounds.overlay_files} files there")
            yield path, data

    def _names(self) -> Iterator[tuple[str, str]]:
        """Path in the payload, and the object's name."""
        if self.source.tree is None:
            yield from ((file.path, f"FETCH_HEAD:{file.path}") for file in self.source.files)
            return
        top = self.source.tree.path or ""
        listed = self._git("ls-tree", "-r", "-z", f"FETCH_HEAD:{top}", missing=f"{self.source.url} has no folder {top}")
        for line in filter(None, listed.split(b"\0")):
            facts, _, path = line.partition(b"\t")
            mode, _, name = facts.split(b" ")
            if mode not in _REGULAR:
                raise SpecFault(f"{path.decode(errors='replace')} of {self.source.url} is a link or a repository of its own")
            yield path.decode(), name.decode()

    def _content(self, name: str, room: int) -> bytes:
        missing = f"{self.source.url} has no file {name.partition(':')[2] or name} at commit {self.source.commit[:12]}"
        size = int(self._git("cat-file", "-s", name, missing=missing))
        if size > room:
            raise SpecFault(f"the files of {self.source.url} are larger than {self.bounds.overlay_bytes // 2**20} MiB together")
        return self._git("cat-file", "blob", name, missing=missing)

    def _git(self, *arguments: str, missing: str = "") -> bytes:
        """What a command prints; one that fails is the surroundings' fault, or the record's where `missing` says so."""
        command = ["env", *_SETTINGS, "git", "-C", str(self.folder), "-c", "core.hooksPath=/dev/null", *arguments]
        try:
            program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
            )
        except OSError as error:
            raise EnvironmentFault(f"git cannot be run: {(error.strerror or str(error)).lower()}") from error
        try:
            output, words = program.communicate(timeout=self.bounds.fetch)
        except subprocess.TimeoutExpired as error:
            raise EnvironmentFault(f"git {arguments[0]} from {self.source.url} took over {self.bounds.fetch:g} s") from error
        finally:
            _end(program)
        if program.returncode == 0:
            return output
        if missing and _is_absent(words):
            raise SpecFault(missing)
        said = " ".join(words.decode(errors="replace").split())[-_SENTENCE:]
        raise EnvironmentFault(f"git {arguments[0]} of {self.source.url} failed: {said or f'code {program.returncode}'}")


def _is_absent(words: bytes) -> bool:
    return any(phrase in words for phrase in (b"does not exist in", b"Not a valid object name", b"exists on disk, but not in"))


def _end(program: subprocess.Popen[bytes]) -> None:
    """Leave no helper of git behind."""
    if program.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
