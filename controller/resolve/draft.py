"""An instance that is complete but for its cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.model.parameters import Value
from controller.model.resolved import ContainerSpec, LiveSettings, Origin, Serving
from controller.resolve.estate import EntrySource
from controller.resolve.template import Template


@dataclass(frozen=True, slots=True)
class Draft:
    """`spec.gpus` is still empty; all else of the instance stands."""

    source: EntrySource
    template: Template
    spec: ContainerSpec
    serving: Serving
    live: LiveSettings
    parameters: Mapping[str, Value]
    origins: Mapping[str, Origin]
    exclusive: bool
    vram_claim_bytes: int | None
