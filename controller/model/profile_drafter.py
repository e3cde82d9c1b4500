"""Drafter profiles: what proposes tokens ahead of a model."""

from __future__ import annotations

from pydantic import model_validator

from controller.model.fields import Document, Texts
from controller.model.profile_words import Amount, Count, Dialect, Method, Proven, WeightsFormat


class Download(Document):
    """Where a drafter that does not come with its model is had; size in GB (1e9 bytes)."""

    repository: str
    size_gb: Amount | None = None
    format: WeightsFormat | None = None


class DrafterProfile(Document):
    """A drafter; `download` is null for one that ships inside the model's weights, whose `memory_gb` is then 0.

    `memory_gb` is what it adds on the cards in GB (1e9 bytes), null when that is not known; `memory_varies: true` says that it
    depends on the file. `engine_type` is the only type that can run it, null when several can.
    """

    id: str
    name: str
    method: Method
    models: Texts
    engine_type: Dialect | None = None
    tokens_default: Count
    tokens_max: Count
    download: Download | None = None
    memory_gb: float | None = None
    memory_varies: bool = False
    status: Proven | None = None
    note: str = ""

    @model_validator(mode="after")
    def _default_within_maximum(self) -> DrafterProfile:
        if self.tokens_default > self.tokens_max:
            raise ValueError(f"expected tokens_default of at most tokens_max, which is {self.tokens_max}")
        return self
