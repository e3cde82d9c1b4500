"""A model's geometry: the numbers from which the size of its KV cache and of its state follows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from controller.model.fields import Document
from controller.model.profile_words import Amount, Count


class FullAttention(Document):
    """Layers that look at every earlier token; `layers` is absent when it is not known how many of the layers do."""

    layers: Count | None = None
    kv_heads: Count
    head_dim: Count | None = None


class SlidingAttention(Document):
    """Layers that look at the last `window` tokens."""

    layers: Count
    window: Count
    kv_heads: Count
    head_dim: Count


class LinearAttention(Document):
    """Layers that keep a state of fixed size for each sequence instead of keys and values."""

    layers: Count
    key_heads: Count
    value_heads: Count
    key_head_dim: Count
    value_head_dim: Count
    conv_kernel: Count


class LatentAttention(Document):
    """Layers that cache one vector for a token (MLA): `latent_and_rope` elements, and `indexer_bytes` for an index if any."""

    layers: Count
    latent_and_rope: Count
    indexer_bytes: Count | None = None


class Experts(Document):
    """Mixture of experts: how many there are, how many a token takes, and how wide they are."""

    total: Count | None = None
    per_token: Count | None = None
    ffn_size: Count | None = None
    shared_ffn_size: Count | None = None
    active_params_billion: Amount | None = None


class Architecture(Document):
    """The geometry; `name` is the one that boot logs and papers use and that several models may share.

    Each kind of layer stands once with what it needs. Kinds that are given add up to `layers`, or the split is not known.
    """

    name: str | None = None
    layers: Count
    full_attention: FullAttention | None = None
    sliding_attention: SlidingAttention | None = None
    linear_attention: LinearAttention | None = None
    latent_attention: LatentAttention | None = None
    query_heads: Count | None = None
    hidden_size: Count
    ffn_size: Count | None = None
    vocab_size: Count | None = None
    params_billion: Amount | None = None
    experts: Experts | None = None
    mtp_layers: Annotated[int, Field(ge=0)] | None = None
    attention_output_gate: bool | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> Architecture:
        kinds = (self.full_attention, self.sliding_attention, self.linear_attention, self.latent_attention)
        counts = [kind.layers for kind in kinds if kind is not None]
        known = [count for count in counts if count is not None]
        if sum(known) > self.layers or (counts and len(known) == len(counts) and sum(known) != self.layers):
            raise ValueError(f"expected kinds of layers that add up to {self.layers}")
        return self
