"""The files of overlays as Steward keeps them: named by their content, written once, and never changed in place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from controller.model.problem import Place

STORE: Final = "${STEWARD_OVERLAYS}"
"""Stands in a mount for the folder of the payloads until create: where a state folder lies is no matter of a spec."""


@dataclass(frozen=True, slots=True)
class PayloadPart:
    """One file; `data` None: its bytes are not at hand, only their SHA-256 is known."""

    path: str
    sha256: str
    data: bytes | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Payload:
    """Files that belong together. `key`, 64 hex digits, is the name of their folder; without `parts` it stands for a commit."""

    key: str
    parts: tuple[PayloadPart, ...] = ()

    @property
    def at_hand(self) -> bool:
        """Whether every byte of it is."""
        return bool(self.parts) and all(part.data is not None for part in self.parts)

    def source(self, path: str | None = None) -> str:
        """A file of it, or its whole folder, as the source of a mount."""
        return f"{STORE}/{self.key}/{path}" if path else f"{STORE}/{self.key}"


@dataclass(frozen=True, slots=True)
class PayloadNeed:
    """Files without which a container cannot be made. `name` is the overlay that they belong to.

    `payload` None: nobody can tell what they are. `remedy` is what a person does to bring them, in the imperative; empty where
    Steward has them itself.
    """

    name: str
    payload: Payload | None
    remedy: str = ""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class OverlayUse:
    """One overlay of a container, and the text in one of its files by which it is known to be at work (None: it has none)."""

    id: str
    sentinel: str | None = None
    files: tuple[str, ...] = ()


def payload_of(parts: Iterable[PayloadPart]) -> Payload:
    """The payload of these files, in path order."""
    ordered = tuple(sorted(parts, key=lambda part: part.path))
    return Payload(digest_of(f"{part.sha256}  {part.path}" for part in ordered), ordered)


def part_of(path: str, data: bytes) -> PayloadPart:
    """One file whose bytes are at hand."""
    return PayloadPart(path, hashlib.sha256(data).hexdigest(), data)


def digest_of(lines: Iterable[str]) -> str:
    """SHA-256 over lines of text."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
