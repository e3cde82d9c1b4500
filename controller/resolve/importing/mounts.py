"""The volumes of a Compose service: which of them holds the models, which the Hugging Face cache, and what else there is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from controller.dialects.flag_groups import Word
from controller.model.document import Document, Plain
from controller.model.problem import DocPath, Place
from controller.resolve.importing.drafting import Host, Ledger

_SHORT: Final = re.compile(r"([^:]+):([^:]+)(?::[^:]*)?")
_HF_CACHE: Final = re.compile(r".*/\.cache/huggingface(?:/hub)?/?")
_CACHES: Final = re.compile(r".*/\.(?:cache/(?:vllm|steward|flashinfer|torch|llama\.cpp|sglang)|triton|nv)(?:/.*)?")
_FLAGS: Final = ("--model", "-m", "--model-path")
MODELS: Final = "/models"
"""Where every template has the models."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A folder of the host and where it stands in the container."""

    source: str
    target: str
    place: Place

    def inside(self, path: str) -> str | None:
        """The rest of a path that lies in it, empty for itself."""
        if path == self.target:
            return ""
        return path.removeprefix(f"{self.target}/") if path.startswith(f"{self.target}/") else None


@dataclass(frozen=True, slots=True)
class Models:
    """The folder of the models on the host, and how paths in the old container lead into it."""

    folder: str
    volume: Volume | None = None
    below: str = ""

    def locate(self, path: str) -> str | None:
        """The path below the models folder; None for one that leads elsewhere."""
        rest = None if self.volume is None else self.volume.inside(path.rstrip("/"))
        if rest is None:
            return None
        return posixpath.join(self.below, rest) if rest else self.below or None


def volumes_of(document: Document, at: DocPath, written: Plain, host: Host, ledger: Ledger) -> Iterator[Volume]:
    """Every bind mount."""
    for position, item in enumerate(written if isinstance(written, list) else ()):
        place = document.place((*at, position))
        pair = _pair(item)
        if pair is None or not pair[0].startswith(("/", ".", "~")):
            hint = "Steward mounts folders of the host; copy what the volume holds"
            ledger.lost(place, f"volume {_shown(item)} is no folder of the host", hint)
            continue
        yield Volume(host.absolute(pair[0]), pair[1].rstrip("/") or "/", place)


def models_in(volumes: Sequence[Volume], words: Sequence[Word]) -> Models | None:
    """The mount that the engine's model lies in, else the one at `/models`."""
    named = list(_named(words))
    for volume in volumes:
        if _HF_CACHE.fullmatch(volume.target) or _CACHES.fullmatch(volume.target):
            continue
        inside = [rest for path in named if (rest := volume.inside(path.rstrip("/"))) is not None]
        if "" in inside:
            return Models(posixpath.dirname(volume.source), volume, posixpath.basename(volume.source))
        if inside or volume.target == MODELS:
            return Models(volume.source, volume)
    return None


def _named(words: Sequence[Word]) -> Iterator[str]:
    """The paths by which the engine is told its model: behind a flag, or as the first word."""
    before = _FLAGS[0]
    for word in words:
        flag, equals, value = word.text.partition("=")
        if before in _FLAGS:
            yield word.text
        elif equals and flag in _FLAGS:
            yield value
        before = word.text


def is_hf_cache(volume: Volume) -> bool:
    """Whether it is what Hugging Face's libraries download to."""
    return _HF_CACHE.fullmatch(volume.target) is not None


def is_cache(volume: Volume) -> bool:
    """Whether it holds what an engine compiles, which Steward keeps in a folder for each image."""
    return _CACHES.fullmatch(volume.target) is not None


def _pair(item: Plain) -> tuple[str, str] | None:
    if isinstance(item, str):
        match = _SHORT.fullmatch(item)
        return (match[1], match[2]) if match else None
    if isinstance(item, dict) and item.get("type", "bind") == "bind":
        source, target = item.get("source"), item.get("target")
        return (source, target) if isinstance(source, str) and isinstance(target, str) else None
    return None


def _shown(item: Plain) -> str:
    return item if isinstance(item, str) else str(item.get("source", "")) if isinstance(item, dict) else ""
