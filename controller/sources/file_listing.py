"""Which files make up the desired state: the estate's own, and the catalogue documents of the repository that it lies in."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controller.model.problem import Place, Problem, Severity

RULE: Final = "source"
DESIRED: Final = "desired"
"""An estate folder of this name lies in a repository with documents of its own."""
YAML: Final = (".yml", ".yaml")

_KINDS: Final = {"profiles": YAML, "composes": YAML, "overlays": ("",)}
"""The repository's folders, with the endings of the names that count."""


class Trouble(Exception):
    """The files cannot be had as they are; carries the problem."""

    def __init__(self, message: str, hint: str = "", file: Path | None = None) -> None:
        """Take a sentence, what to do, and the one file that it is about, if it is one."""
        super().__init__(message)
        place = Place(printable(file), 1, 1) if file else None
        self.problem = Problem(Severity.ERROR, RULE, message, hint, place=place)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of one estate path, found anew at each call; `most` bounds the files, and the folders, of each kind.

    Iterating gives the paths whose changes are worth a new look.
    """

    estate: Path
    most: int

    def __iter__(self) -> Iterator[Path]:
        """The estate, and the repository's folders with all below them; never raises."""
        yield self.estate
        root = _repository(self.estate)
        for kind in _KINDS if root else ():
            top = (root or self.estate) / kind
            yield top
            with suppress(Trouble, OSError):
                yield from [folder for _, folder, _ in _tree(kind, top, self.most)]

    def files(self) -> dict[str, Path]:
        """Every file by its key, in key order; raises Trouble or OSError."""
        found = self._estate()
        root = _repository(self.estate)
        for kind, endings in _KINDS.items() if root else ():
            top = (root or self.estate) / kind
            if os.path.lexists(top):
                found |= self._bounded(kind, _files(_tree(kind, top, self.most), endings))
        for path in found.values():
            if str(path) != printable(path):
                raise Trouble(f"the name of {printable(path)} is not UTF-8 text", "rename it")
        return dict(sorted(found.items()))

    def _estate(self) -> dict[str, Path]:
        if not _is_folder(self.estate):
            return {f"estate/{self.estate.name}": self.estate}
        names = (name for name in _names(self.estate) if name.endswith(YAML))
        found = self._bounded("estate", ((f"estate/{name}", self.estate / name) for name in names))
        if not found:
            hint = "name the files *.yml or *.yaml, without a dot in front; `steward init` writes one"
            raise Trouble(f"there is no estate file in the folder {printable(self.estate)}", hint)
        return found

    def _bounded(self, kind: str, files: Iterable[tuple[str, Path]]) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for key, path in files:
            if len(found) >= self.most:
                raise Trouble(f"more than {self.most} files for `{kind}`", "remove some, or join them")
            found[key] = path
        return found


def printable(path: Path | str) -> str:
    """A path as text that can be printed everywhere."""
    return os.fsencode(path).decode("utf-8", "replace")


def _is_folder(estate: Path) -> bool:
    try:
        return stat.S_ISDIR(estate.stat().st_mode)
    except FileNotFoundError as error:
        hint = "`steward init` writes one; --estate names another place"
        raise Trouble(f"there is no estate at {printable(estate)}", hint) from error


def _repository(estate: Path) -> Path | None:
    """The folder that holds `desired/`, when the estate's folder has that name."""
    folder = estate if os.path.isdir(estate) else estate.parent  # noqa: PTH112 - never raises
    if folder.name == DESIRED:
        return folder.parent
    whole = Path(os.path.abspath(folder))  # noqa: PTH100 - `resolve` would follow a symlink of another name
    return whole.parent if whole.name == DESIRED else None


def _tree(kind: str, top: Path, most: int) -> Iterator[tuple[str, Path, list[str]]]:
    """Each folder from `top` down with its key and its files' names; a symlink back up is not entered again."""
    waiting: list[tuple[str, Path, frozenset[tuple[int, int]]]] = [(kind, top, frozenset())]
    for _ in range(most):
        if not waiting:
            return
        key, folder, above = waiting.pop()
        status = folder.stat()
        here = (status.st_dev, status.st_ino)
        if here in above:
            continue
        names = _names(folder)
        inner = [name for name in names if (folder / name).is_dir()]
        waiting.extend((f"{key}/{name}", folder / name, above | {here}) for name in inner)
        yield key, folder, [name for name in names if name not in inner]
    if waiting:
        raise Trouble(f"more than {most} folders below {printable(top)}", "remove some; symlinks are followed")


def _files(folders: Iterable[tuple[str, Path, list[str]]], endings: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    for key, folder, names in folders:
        for name in names:
            if name.endswith(endings) and not name.endswith("~"):
                yield f"{key}/{name}", folder / name


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
