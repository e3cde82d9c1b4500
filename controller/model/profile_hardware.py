"""Hardware profiles: what is known of a type of card before one is asked. What is not known is absent."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from controller.model.fields import Document, Texts
from controller.model.profile_words import Amount, Capability, Kv, KvFormats, Share, Watts

NOMINAL_TO_USABLE: Final = 0.98
"""Share of the nominal memory that a driver reports where the profile gives no measured figure (an estimate)."""

LEAST_REPORTED: Final = 0.9
"""Share of the nominal memory below which a driver's total belongs to a smaller card of the same name."""


class PreferredKv(Document):
    """The KV format that suits each kind of use on this card."""

    long_context: Kv
    multi_stream: Kv
    balanced: Kv


class PowerLimits(Document):
    """Power limits in watts: best decoding per watt, best prefill per watt, and the most that the board is rated for."""

    efficient: Watts | None = None
    prefill_efficient: Watts | None = None
    maximum: Watts | None = None


class Pcie(Document):
    """The link that the card can have at best; its slot may give it less."""

    generation: Annotated[int, Field(ge=1, le=9)]
    lanes: Annotated[int, Field(ge=1, le=16)]


class HardwareProfile(Document):
    """A card type; memory in GiB, `memory_gib` nominal and `usable_gib` as the driver reports it.

    `names` are the driver's own names of this type, exactly; `nvlink` says whether such cards can be linked, not that any is.
    """

    id: str
    name: str
    names: Texts = ()
    memory_gib: Amount
    usable_gib: Amount | None = None
    compute_capability: Capability
    nvlink: bool = False
    architecture: str | None = None
    kv_formats: KvFormats | None = None
    preferred_kv_format: PreferredKv | None = None
    safe_memory_utilization: Share | None = None
    cuda_graph_mode: Literal["full", "piecewise", "none"] | None = None
    driver_min_version: str | None = None
    power_limit_w: PowerLimits = PowerLimits()
    pcie: Pcie | None = None
    note: str = ""

    @property
    def usable_bytes(self) -> int:
        """What a driver reports as the total, in bytes; estimated when the profile has no measured figure."""
        gib = self.usable_gib if self.usable_gib is not None else self.memory_gib * NOMINAL_TO_USABLE
        return int(gib * 2**30)

    def describes(self, name: str, memory_total: int) -> bool:
        """Whether a card with this driver's name and total (bytes) is of this type; both must fit."""
        nominal = self.memory_gib * 2**30
        return name in self.names and LEAST_REPORTED * nominal <= memory_total <= nominal
