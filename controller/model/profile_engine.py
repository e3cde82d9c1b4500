"""Engine profiles: what one build of an engine can do, and why its image is the one that it is."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from controller.model.fields import AsTuple, Document, Port, Texts
from controller.model.profile_words import (
    Capability,
    Day,
    Dialect,
    Families,
    KvFormats,
    Methods,
    WeightFormats,
    word,
)

FeatureValue: TypeAlias = bool | Literal["stable_only"]
"""Whether a build has a feature; `stable_only`: the feature is promised for releases, not for builds in between."""


class AvailabilityState(StrEnum):
    """Whether the image can still be pulled."""

    AVAILABLE = "available"
    PURGED = "purged"
    UNKNOWN = "unknown"


class Availability(Document):
    """Whether the image can still be pulled, and on which day that was so."""

    state: Annotated[AvailabilityState, word(AvailabilityState)] = AvailabilityState.UNKNOWN
    as_of: Day | None = None


class PatchBundle(Document):
    """The third-party patch bundle: whether this build is meant to run with it, and at which of its releases."""

    required: bool = False
    pin: str | None = None


class Pin(Document):
    """Why the image is this one and what holds it there.

    `contains` and `lacks` are rows of `profiles/upstream.yml`; `overlays` were made for this build and have to be looked at
    again when it moves; `successor` is the engine profile that took its place.
    """

    revision: str | None = None
    built: Day | None = None
    why: str = ""
    free_to_move: bool = True
    held_by: Texts = ()
    overlays: Texts = ()
    contains: Texts = ()
    lacks: Texts = ()
    retired: Day | None = None
    successor: str | None = None


class EngineProfile(Document):
    """An engine build: which dialect it speaks, which image it is, what it can do; `cpu: true` allows `gpus: []`.

    A list that is absent is not known; an empty one means none. `families: any` is an engine that takes every model whose
    weights it can load. `entrypoint` is the image's own; overlays with steps before the engine's start need to know it.
    """

    id: str
    type: Dialect
    image: str | None
    cpu: bool = False
    container_port: Port = 8000
    entrypoint: Annotated[tuple[str, ...], AsTuple, Field(min_length=1)] | None = None
    name: str = ""
    channel: Literal["stable", "nightly", "experimental"] | None = None
    version: Annotated[str, Field(min_length=1)] | None = None
    package: str | None = None
    min_compute_capability: Capability | None = None
    families: Families | None = None
    kv_formats: KvFormats | None = None
    drafter_methods: Methods | None = None
    weight_formats: WeightFormats | None = None
    features: dict[str, FeatureValue] = Field(default_factory=dict)
    feature_origin: dict[str, str] = Field(default_factory=dict)
    required_overlays: Texts = ()
    vendored_overlays: Texts = ()
    patch_bundle: PatchBundle = PatchBundle()
    availability: Availability = Availability()
    pin: Pin | None = None
    note: str = ""
