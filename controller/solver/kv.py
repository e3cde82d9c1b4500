"""Spellings of KV cache formats: engines and their users write one format in several ways."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from controller.model.profile_words import KvFormat
from controller.solver.candidate import Candidate

PARAMETER: Final = "kv_cache_dtype"
AUTO: Final = "auto"
"""The type of the model itself, which every engine and every card takes that takes the model."""
SPELLINGS: Final[Mapping[str, KvFormat]] = MappingProxyType(
    {
        **{member.value: member for member in KvFormat},
        "bfloat16": KvFormat.BF16,
        "float16": KvFormat.FP16,
        "f16": KvFormat.FP16,
        "float32": KvFormat.FP32,
        "f32": KvFormat.FP32,
        "fp8": KvFormat.FP8_E4M3,
    }
)
UNQUANTISED: Final = frozenset({KvFormat.BF16, KvFormat.FP16, KvFormat.FP32})
FP8: Final = frozenset({KvFormat.FP8_E4M3, KvFormat.FP8_E5M2})


def written_kv(me: Candidate) -> str | None:
    """The KV format as it was written; None where nothing was said or it is the model's own."""
    text = me.text(PARAMETER)
    return None if text is None or text.lower() == AUTO else text


def kv_format(me: Candidate) -> KvFormat | None:
    """The KV format by its one name; None also for a word that is no known format."""
    written = written_kv(me)
    return None if written is None else SPELLINGS.get(written.lower())


def kv_fault(me: Candidate) -> str | None:
    """Why there is no format to look at, None where there is one."""
    written = written_kv(me)
    if written is None:
        return "the KV cache has the model's own format"
    return None if kv_format(me) else f"{written} is no format that the catalogue knows"
