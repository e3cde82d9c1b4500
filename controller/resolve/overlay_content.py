"""An overlay of an instance, and what its files are as far as its record tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from controller.model.document import Document
from controller.model.payload import Payload, PayloadPart, digest_of, payload_of
from controller.model.problem import Place

if TYPE_CHECKING:
    from controller.model.overlay import GitSource, Overlay

PayloadSource: TypeAlias = "Callable[[Overlay, Document], Payload | str]"
"""The files of an overlay that come with Steward or lie beside its record, or what a person must do about missing ones."""


@dataclass(frozen=True, slots=True)
class PutOn:
    """One overlay of an instance: its record, where it is named and in what kind of document, and its files.

    `lacking` says in the imperative what brings files that are not there to be had; then `payload` is None.
    """

    overlay: Overlay
    record: Document
    place: Place
    source: str
    payload: Payload | None = None
    lacking: str = ""


def content_of(overlay: Overlay, record: Document, payloads: PayloadSource | None) -> Payload | str | None:
    """The files of an overlay; None where it has none; in the imperative what brings them where they cannot be had."""
    if overlay.source == "unavailable":
        own = f"overlays/{overlay.id}.yml of your own"
        return f'describe its files with source: dir in an {own}, or leave it out with "-{overlay.id}"'
    if overlay.source == "none":
        return None
    if overlay.git is not None:
        return git_payload(overlay.git)
    return payloads(overlay, record) if payloads else "look at its files: nobody has"


def git_payload(source: GitSource) -> Payload:
    """What a fetch would bring: the files by their digests, or a folder by its commit."""
    if source.tree is None:
        return payload_of(PayloadPart(file.path, file.sha256) for file in source.files)
    return Payload(digest_of(("tree", source.url, source.commit, source.tree.path or "")))
