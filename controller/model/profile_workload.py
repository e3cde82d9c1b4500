"""Workload profiles: what matters in one kind of use, and what an instance for it starts from."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from controller.model.fields import Document, Texts
from controller.model.profile_words import Count, word


class Level(StrEnum):
    """How much something matters."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    MAX = "max"


Weight: TypeAlias = Annotated[Level, word(Level)] | None


class Priorities(Document):
    """What matters how much; what is null does not matter. `vision` and `tools`: the model must take images, or call tools."""

    max_context: Weight = None
    concurrency: Weight = None
    prefill_throughput: Weight = None
    decode_throughput: Weight = None
    vision: Literal["required"] | None = None
    tools: Literal["required"] | None = None


class WorkloadDefaults(Document):
    """What an instance starts from: requests at once, whether a drafter is used, whether the model thinks and sees."""

    max_num_seqs: Count
    drafter: bool
    enable_thinking: bool | None = None
    vision: bool | None = None


class WorkloadProfile(Document):
    """A kind of use."""

    id: str
    name: str
    priorities: Priorities
    defaults: WorkloadDefaults
    required_features: Texts = ()
    note: str = ""
