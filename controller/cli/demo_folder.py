"""The folder that a demo works in: a copy of the sample estate, a rig file to play with, and the state of its controller."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from controller.errors import UsageError
from controller.settings import Settings
from controller.sources.file_listing import YAML
from controller.sources.search_path import builtin_root

PORTS: Final = range(8010, 8100)
"""Where a copy of the sample looks for free ports in place of taken ones."""
_PORT: Final = re.compile(r"^\s+port: (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """`written` is what this demo put there, by path; `moved` the sample's ports that were taken, with those in their place."""

    path: Path
    temporary: bool
    written: Mapping[Path, str]
    moved: Mapping[int, int]

    @property
    def desired(self) -> Path:
        """The folder of the estate."""
        return self.path / "desired"

    @property
    def estate(self) -> Path:
        """The estate's first file."""
        return next(_estate_files(self.desired), self.desired / "estate.yml")

    @property
    def rig(self) -> Path:
        """The rig file."""
        return self.path / "rig.yml"

    @property
    def state(self) -> Path:
        """The state of the controller and of the simulated rig."""
        return self.path / "state"

    def settings(self, base: Settings) -> Settings:
        """The settings of a controller that works in this folder."""
        return replace(base, estate=self.desired, rig=f"sim:{self.rig}", state=self.state, profiles=None)

    def remove(self) -> bool:
        """Take a temporary folder away, unless a person has changed or added something; whether it is gone."""
        if not self.temporary or self._is_touched():
            return False
        shutil.rmtree(self.path, ignore_errors=True)
        return not self.path.exists()

    def _is_touched(self) -> bool:
        files = {path for path in self.path.rglob("*") if not (path.is_dir() or path.is_relative_to(self.state))}
        return files != set(self.written) or any(_text(path) != text for path, text in self.written.items())


def made(folder: Path | None, rig: str, is_free: Callable[[int], bool]) -> DemoFolder:
    """A temporary folder, or this one with whatever it lacks; raises UsageError where it cannot be made."""
    try:
        path = Path(tempfile.mkdtemp(prefix="steward-demo-")) if folder is None else folder.absolute()
        desired = path / "desired"
        desired.mkdir(parents=True, exist_ok=True)
        written, moved = {}, {}
        if next(_estate_files(desired), None) is None:
            sample = (builtin_root() / "desired" / "estate.yml").read_text()
            moved = _moves(sample, is_free)
            written[desired / "estate.yml"] = _with_ports(sample, moved)
        if not (path / "rig.yml").exists():
            written[path / "rig.yml"] = rig
        for file, text in written.items():
            file.write_text(text)
    except OSError as error:
        raise UsageError(f"the folder of the demo cannot be made: {error.filename}: {error.strerror}") from error
    return DemoFolder(path, folder is None, written, moved)


def _estate_files(desired: Path) -> Iterator[Path]:
    return (path for path in sorted(desired.iterdir()) if path.name.endswith(YAML) and not path.name.startswith("."))


def _moves(sample: str, is_free: Callable[[int], bool]) -> dict[int, int]:
    """Another port for each of the sample's that is taken."""
    wanted = [int(port) for port in _PORT.findall(sample)]
    spare = (port for port in PORTS if port not in wanted and is_free(port))
    taken = [port for port in wanted if not is_free(port)]
    return dict(zip(taken, spare, strict=False))


def _with_ports(sample: str, moved: Mapping[int, int]) -> str:
    return re.sub(r"\b\d{4}\b", lambda found: str(moved.get(int(found[0]), found[0])), sample)


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, UnicodeError):
        return None
