"""Which engine types' arguments can be read back, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from controller.dialects import llamacpp_flags, sglang_flags, vllm_flags
from controller.dialects.flag_groups import Locate, Understood, Word
from controller.model.profile import DialectName

READERS: Final[Mapping[DialectName, Callable[[Iterable[Word], Locate], Understood]]] = MappingProxyType(
    {
        DialectName.VLLM: vllm_flags.understood,
        DialectName.LLAMACPP: llamacpp_flags.understood,
        DialectName.SGLANG: sglang_flags.understood,
    }
)
"""By engine type; the arguments are those behind the program."""
