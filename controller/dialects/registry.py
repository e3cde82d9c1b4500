"""The dialects by name. A name without a dialect is one that a later version of Steward will speak."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from controller.dialects.dialect import Dialect
from controller.dialects.generic import Generic
from controller.dialects.llamacpp import LlamaCpp
from controller.dialects.simulated import Simulated
from controller.dialects.vllm import Vllm
from controller.errors import SpecFault
from controller.model.profile import DialectName

DIALECTS: Final[Mapping[DialectName, Dialect]] = MappingProxyType(
    {spoken.name: spoken for spoken in (Vllm(), LlamaCpp(), Generic(), Simulated())}
)
"""Every engine type that this version speaks to; ask it whether a name is in it before a spec is accepted."""


class NoDialect(SpecFault):
    """The engine type is known by name, and this version cannot run it."""


def dialect(name: DialectName) -> Dialect:
    """The dialect of an engine type; NoDialect, with the sentence for the user, when this version has none."""
    spoken = DIALECTS.get(name)
    if spoken is None:
        raise NoDialect(f"the engine type {name} is not supported yet: there are {', '.join(sorted(DIALECTS))}")
    return spoken
