"""The dialects by name: one for each engine type."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from controller.dialects.dialect import Dialect
from controller.dialects.generic import Generic
from controller.dialects.llamacpp import LlamaCpp
from controller.dialects.sglang import SgLang
from controller.dialects.simulated import Simulated
from controller.dialects.vllm import Vllm
from controller.model.profile import DialectName

DIALECTS: Final[Mapping[DialectName, Dialect]] = MappingProxyType(
    {spoken.name: spoken for spoken in (Vllm(), LlamaCpp(), SgLang(), Generic(), Simulated())}
)
"""Every engine type that this version speaks to."""


def dialect(name: DialectName) -> Dialect:
    """The dialect of an engine type."""
    return DIALECTS[name]
