"""Model profiles: a model's geometry, the exports of its weights, and what can go with it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from controller.model.fields import AsTuple, Document, Texts
from controller.model.profile_architecture import Architecture
from controller.model.profile_words import Amount, Capabilities, Count, KvFormats, Proven, WeightsFormat, word

Parallels = Annotated[tuple[Annotated[int, Field(ge=1, le=16)], ...], AsTuple]


class WeightsRole(StrEnum):
    """What the files are for: the model itself, a drafter for it, or its vision projector."""

    TARGET = "target"
    DRAFTER = "drafter"
    PROJECTOR = "projector"


class Blocked(Document):
    """Cards that cannot load an export: their compute capabilities, and why."""

    capabilities: Capabilities
    reason: str


class Weights(Document):
    """One export of a model's weights: `directory` below the models folder, size in GB (1e9 bytes), `files` when not all count.

    `size_varies: true` says that the size depends on which of its files one takes.
    """

    directory: str | None = None
    size_gb: Amount | None = None
    size_varies: bool = False
    format: WeightsFormat
    role: Annotated[WeightsRole, word(WeightsRole)] = WeightsRole.TARGET
    repository: str | None = None
    revision: str | None = None
    files: Texts = ()
    status: Proven
    blocked: Blocked | None = None
    note: str = ""


class ModelProfile(Document):
    """A model; what is null is not known.

    `patch_bundle_kv_formats` are the KV formats with which it runs only when the third-party patch bundle is loaded.
    """

    id: str
    name: str
    family: str
    max_context_tokens: Count | None = None
    vision: bool | None = None
    k_equals_v: bool | None = None
    architecture: Architecture
    weights: dict[str, Weights] = Field(default_factory=dict)
    default_weights: str | None = None
    drafters: Texts = ()
    valid_tp: Parallels | None = None
    patch_bundle_required: bool = False
    patch_bundle_kv_formats: KvFormats = ()
    note: str = ""

    @model_validator(mode="after")
    def _default_is_there(self) -> ModelProfile:
        if self.default_weights is None:
            return self
        chosen = self.variant(self.default_weights)
        if chosen is None or chosen.role is not WeightsRole.TARGET:
            raise ValueError("expected default_weights to name weights of the model itself")
        return self

    def variant(self, identifier: str) -> Weights | None:
        """The weights of an id, in which `-` and `_` count as equal."""
        wanted = identifier.replace("-", "_")
        return next((weights for name, weights in self.weights.items() if name.replace("-", "_") == wanted), None)
