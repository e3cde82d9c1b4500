"""Limits: setups that boot with a context which they cannot serve to its end, with the evidence and the way out."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from controller.model.fields import AsTuple, Document, Texts
from controller.model.profile_words import Amount, Count, Day, Dialects, KvFormats, Methods, word


class Symptom(StrEnum):
    """How the limit shows: the engine dies, the answers turn bad, or the request finds no room in the KV pool."""

    OUT_OF_MEMORY = "out_of_memory"
    WRONG_ANSWERS = "wrong_answers"
    POOL_EXHAUSTED = "pool_exhausted"


class AppliesTo(Document):
    """Which setups are meant: every condition that is written must hold; an absent or empty one holds for all.

    `card_memory_gib_max` is nominal and holds for the smallest card; `without_overlays`: none of them is put on.
    """

    engine_types: Dialects
    families: Texts = ()
    models: Texts = ()
    tp: Count | None = None
    cards: Count | None = None
    card_memory_gib_max: Amount | None = None
    kv_formats: KvFormats = ()
    drafter_methods: Methods = ()
    vision: bool | None = None
    without_overlays: Texts = ()


class Tokens(Document):
    """Where it fails: seen from `low` to `high` tokens."""

    low: Count
    high: Count

    @model_validator(mode="after")
    def _in_order(self) -> Tokens:
        if self.low > self.high:
            raise ValueError("expected low to be at most high")
        return self


class Setting(Document):
    """Values of max_model_len: the largest that is known to hold, and the smallest that is known to boot and then fail."""

    holds: Count
    fails: Count

    @model_validator(mode="after")
    def _in_order(self) -> Setting:
        if self.holds >= self.fails:
            raise ValueError("expected holds to be below fails")
        return self


class LimitProfile(Document):
    """A ceiling in tokens below the configured context.

    `accumulated` counts a conversation's tokens over its turns, `single_prompt` those of one request; `max_model_len` is given
    where the setting itself decides. `upstream` are rows of `profiles/upstream.yml`.
    """

    id: str
    title: str
    applies_to: AppliesTo
    symptom: Annotated[Symptom, word(Symptom)]
    accumulated: Tokens | None = None
    single_prompt: Tokens | None = None
    max_model_len: Setting | None = None
    evidence: Annotated[tuple[str, ...], AsTuple, Field(min_length=1)]
    upstream: Texts = ()
    way_out: Annotated[tuple[str, ...], AsTuple, Field(min_length=1)]
    as_of: Day

    @model_validator(mode="after")
    def _has_a_ceiling(self) -> LimitProfile:
        if not (self.accumulated or self.single_prompt or self.max_model_len):
            raise ValueError("expected one of accumulated, single_prompt and max_model_len")
        return self
