"""The desired state as files on this machine, read as of one moment."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controller.model.problem import Problem
from controller.model.snapshot import Snapshot, SourceFile, snapshot_of
from controller.settings import Bounds
from controller.sources.file_listing import Listing, Trouble, printable
from controller.sources.stable_read import ATTEMPTS, FileBytes, Stamp, link_stamp, read_stable, stamp_of
from controller.sources.watched_folders import on_the_way

_TOTAL: Final = 16
"""All files together may be this many times the bound of one."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """Implements ports.Source. `estate` is a folder or one file, as the user typed it."""

    estate: Path
    bounds: Bounds

    def read(self) -> Snapshot | tuple[Problem, ...]:
        """The present bytes of all files as of one moment, or why they cannot be had."""
        try:
            for _ in range(ATTEMPTS):
                if (files := self._read_once()) is not None:
                    return snapshot_of(files)
            raise Trouble(f"the files of {printable(self.estate)} change while they are read", "wait for their writer")
        except Trouble as trouble:
            return (trouble.problem,)
        except (OSError, ValueError) as error:
            return (self._refused(error),)

    def watched(self) -> Iterable[Path]:
        """The paths whose changes are worth a new look; each iteration looks at the disk anew."""
        return self._listing()

    def _listing(self) -> Listing:
        return Listing(self.estate, self.bounds.estate_files)

    def _read_once(self) -> list[SourceFile] | None:
        """None when a file changed or came meanwhile; one that went is trouble, for a save in two steps looks the same."""
        listed = self._listing().files()
        way = _way(listed.values())
        room = self.bounds.estate_file * _TOTAL
        files: list[SourceFile] = []
        stamps: dict[Path, Stamp] = {}
        for key, path in listed.items():
            found = self._read_file(path)
            room -= len(found.data)
            if room < 0:
                most = self.bounds.estate_file * _TOTAL / 2**20
                raise Trouble(f"the files of {self.estate} are larger than {most:.0f} MiB together", "remove some")
            files.append(SourceFile(key, str(path), found.data))
            stamps[path] = found.stamp
        again = self._listing().files()
        for key, path in listed.items():
            if key not in again:
                raise _vanished(path)
        same = again == listed and all(stamp_of(path) == stamp for path, stamp in stamps.items())
        return files if same and _way(listed.values()) == way else None

    def _read_file(self, path: Path) -> FileBytes:
        found = read_stable(path, self.bounds.estate_file)
        if isinstance(found, FileBytes):
            return found
        raise _vanished(path) if found.gone else Trouble(f"{path} cannot be read: {found.reason}", found.hint, path)

    def _refused(self, error: OSError | ValueError) -> Problem:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else "the path cannot be used"
        where = error.filename if isinstance(error, OSError) and isinstance(error.filename, str) else self.estate
        return Trouble(f"{printable(where)} cannot be read: {reason}", "look at the path and its rights").problem


def _way(paths: Iterable[Path]) -> dict[str, Stamp | None]:
    """Every symlink that leads to one of the files: links that are swapped and swapped back are others than before."""
    steps = {os.path.join(*step) for path in paths for step in on_the_way(path)}  # noqa: PTH118 - they are texts
    return {step: link_stamp(step) for step in steps}


def _vanished(path: Path) -> Trouble:
    hint = "a save in two steps looks like this for a moment; if it stays, remove what points to it"
    return Trouble(f"{path} vanished while it was read", hint)
