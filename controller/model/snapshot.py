"""The bytes of one revision of the desired state: parsing them again always gives the same estate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file as it was read. `path` is what the user would type; `key` is its place in the source, such as
    `estate/estate.yml` or `composes/vllm/dual.yml`, the same wherever the source lies.
    """

    key: str
    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The estate's files and the catalogue documents of its own repository, in key order."""

    files: tuple[SourceFile, ...]
    revision: str

    def of(self, kind: str) -> tuple[SourceFile, ...]:
        """The files below one top folder: `estate`, `profiles`, `composes` or `overlays`."""
        return tuple(file for file in self.files if file.key.startswith(f"{kind}/"))


def snapshot_of(files: Iterable[SourceFile], commit: str = "") -> Snapshot:
    """A snapshot with its revision: 12 hex digits over all keys and bytes, behind `commit` where there is one."""
    ordered = tuple(sorted(files, key=lambda file: file.key))
    digest = hashlib.sha256()
    for file in ordered:
        digest.update(f"{file.key}\0{len(file.data)}\0".encode())
        digest.update(file.data)
    text = digest.hexdigest()[:12]
    return Snapshot(ordered, f"{commit[:12]}+{text}" if commit else text)
