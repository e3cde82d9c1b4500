"""Which folders must be watched so that a change of a path is noticed, whatever symlinks stand on the way to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

_LINKS: Final = 40
"""Symlinks followed on the way to one path, as many as the kernel follows."""
_FOLDERS: Final = 64
"""Folders at most; each costs a thread, and what lies in others is found by polling."""
_TEMPORARY: Final = (".swp", ".swx", "~")

Names: TypeAlias = "frozenset[str] | None"
"""The names in a folder whose changes matter; None for all but the temporary files of editors."""


def folders_of(paths: Iterable[Path]) -> Mapping[str, Names]:
    """The real folders in which a change may concern one of the paths, with the names that matter there."""
    found: dict[str, Names] = {}
    for folder, name in _entries(paths):
        if folder not in found and len(found) < _FOLDERS:
            found[folder] = frozenset()
        if folder in found:
            names = found[folder]
            found[folder] = None if name is None or names is None else names | {name}
    return found


def concerns(folders: Mapping[str, Names], path: str) -> bool:
    """Whether a change at this path matters."""
    if path in folders:
        return True
    folder, name = os.path.split(path)
    if folder not in folders:
        return False
    names = folders[folder]
    return not name.endswith(_TEMPORARY) if names is None else name in names


def _entries(paths: Iterable[Path]) -> Iterator[tuple[str, str | None]]:
    for path in paths:
        yield from on_the_way(path)
        if os.path.isdir(path):  # noqa: PTH112 - never raises
            real = os.path.realpath(path)
            yield real, None
            for name in _links_in(real):
                yield from on_the_way(Path(real, name))


def _links_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_symlink())
    except OSError:
        return []


def on_the_way(path: Path) -> Iterator[tuple[str, str]]:
    """Each symlink on the way to a path as its folder and name; at last the path itself, or the first part that is missing."""
    rest = list(reversed(Path(os.path.abspath(path)).parts))  # noqa: PTH100 - links are followed one by one
    at = Path(rest.pop())
    links = 0
    while rest:
        name = rest.pop()
        step = at / name
        if name == "..":
            at = at.parent
        elif (target := _target(step)) is not None and links < _LINKS:
            links += 1
            yield str(at), name
            at = Path(target.anchor) if target.is_absolute() else at
            rest.extend(reversed(target.parts[target.is_absolute() :]))
        elif rest and os.path.isdir(step):  # noqa: PTH112 - never raises
            at = step
        else:
            yield str(at), name
            return


def _target(path: Path) -> Path | None:
    try:
        return path.readlink()
    except (OSError, ValueError):
        return None
