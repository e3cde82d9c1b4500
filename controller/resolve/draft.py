"""An instance that is complete but for its cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.model.parameters import Value
from controller.model.payload import Payload
from controller.model.resolved import ContainerSpec, LiveSettings, Origin, Serving
from controller.resolve.estate import EntrySource
from controller.resolve.overlay_content import PutOn
from controller.resolve.template import Template


@dataclass(frozen=True, slots=True)
class Draft:
    """`spec.gpus` is still empty; all else of the instance stands. `flags` are those that no parameter stands for."""

    source: EntrySource
    template: Template
    spec: ContainerSpec
    serving: Serving
    live: LiveSettings
    parameters: Mapping[str, Value]
    origins: Mapping[str, Origin]
    exclusive: bool
    vram_claim_bytes: int | None
    flags: tuple[str, ...] = ()
    overlays: tuple[PutOn, ...] = ()
    start_script: Payload | None = None
    """What the container starts with, where its overlays have steps."""
