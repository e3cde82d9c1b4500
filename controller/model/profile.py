"""Facts about engines and cards, as the catalogue's files state them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, StrictFloat, StrictInt

from controller.model.fields import Document

NOMINAL_TO_USABLE: Final = 0.98
"""Share of the nominal memory that a driver reports where the profile gives no measured figure (an estimate)."""


class DialectName(StrEnum):
    """The engine types that Steward speaks to."""

    VLLM = "vllm"
    LLAMACPP = "llamacpp"
    SGLANG = "sglang"
    GENERIC = "generic"
    SIMULATED = "simulated"


_SPELLINGS: Final = {"llama.cpp": "llamacpp", "llama-cpp": "llamacpp"}


def _dialect(value: Any) -> Any:
    text = _SPELLINGS.get(value, value) if isinstance(value, str) else value
    return DialectName(text) if isinstance(text, str) and text in list(DialectName) else text


class EngineProfile(Document):
    """An engine build: which dialect it speaks and which image it is; `cpu: true` allows `gpus: []`."""

    id: str
    type: Annotated[DialectName, BeforeValidator(_dialect)]
    image: str | None
    cpu: bool = False
    container_port: Annotated[int, Field(ge=1, le=65535)] = 8000


class HardwareProfile(Document):
    """A card type; memory in GiB, `memory_gib` nominal and `usable_gib` as the driver reports it."""

    id: str
    name: str
    memory_gib: StrictFloat | StrictInt
    usable_gib: StrictFloat | StrictInt | None = None
    compute_capability: StrictFloat | StrictInt
    nvlink: bool = False

    @property
    def usable_bytes(self) -> int:
        """What a driver reports as the total, in bytes; estimated when the profile has no measured figure."""
        gib = self.usable_gib if self.usable_gib is not None else self.memory_gib * NOMINAL_TO_USABLE
        return int(gib * 2**30)
