"""One card as the driver tells it now: each reading stands alone, and one that fails is Unknown with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from controller.adapters.nvml_events import XidWatch
from controller.adapters.nvml_processes import Residents
from controller.adapters.nvml_words import CARD_FAILED, SESSION_ENDED, Ask, NvmlFault, first_known
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card

T = TypeVar("T")

MEMORY_V2: Final = 0x02000028
"""Version word of the newer memory structure."""
TEMPERATURE_OF_CHIP: Final = 0
_NO_VALUE: Final = 0xFFFFFFFF
_MILLI: Final = 1000
_HUNDRED: Final = 100


@dataclass(frozen=True, slots=True)
class Handle:
    """A card that the driver has named: its index, its handle, and who it is."""

    index: int
    device: Any
    uuid: str
    name: str


def read_card(ask: Ask, handle: Handle, residents: Residents, watch: XidWatch) -> Card:
    """Every reading of one card; raises NvmlFault only when the driver's session has ended."""
    take = _Readings(ask, handle.device)
    memory = take.one(_sizes, ("nvmlDeviceGetMemoryInfo", MEMORY_V2), ("nvmlDeviceGetMemoryInfo",))
    power = take.one(_watts, ("nvmlDeviceGetPowerUsage",))
    temperature = take.one(
        int, ("nvmlDeviceGetTemperatureV", TEMPERATURE_OF_CHIP), ("nvmlDeviceGetTemperature", TEMPERATURE_OF_CHIP)
    )
    utilization = take.one(_busy, ("nvmlDeviceGetUtilizationRates",))
    last_xid = watch.of(take.ask, handle.device, handle.uuid)
    return Card(
        index=handle.index,
        uuid=handle.uuid,
        name=handle.name,
        memory_total=_part(memory, 0),
        memory_used=_part(memory, 1),
        processes=residents.of(take.ask, handle.device),
        compute_capability=take.one(_capability, ("nvmlDeviceGetCudaComputeCapability",)),
        power_watts=power,
        power_limit_watts=take.one(_watts, ("nvmlDeviceGetPowerManagementLimit",), ("nvmlDeviceGetEnforcedPowerLimit",)),
        temperature_celsius=temperature,
        utilization=utilization,
        pcie_generation=take.one(int, ("nvmlDeviceGetCurrPcieLinkGeneration",)),
        pcie_width=take.one(int, ("nvmlDeviceGetCurrPcieLinkWidth",)),
        pcie_max_generation=take.one(int, ("nvmlDeviceGetMaxPcieLinkGeneration",)),
        pcie_max_width=take.one(int, ("nvmlDeviceGetMaxPcieLinkWidth",)),
        persistence=take.one(bool, ("nvmlDeviceGetPersistenceMode",)),
        healthy=take.health(memory, power, temperature, utilization),
        last_xid=last_xid,
    )


def silent_card(index: int, uuid: str, name: str, fault: NvmlFault, last_xid: Reading[int | None]) -> Card:
    """A card that was seen earlier and does not even say its name now; it stays on the list, for it is still claimed."""
    why = Unknown(str(fault))
    return Card(
        index=index,
        uuid=uuid,
        name=name,
        memory_total=why,
        memory_used=why,
        processes=why,
        compute_capability=why,
        power_watts=why,
        power_limit_watts=why,
        temperature_celsius=why,
        utilization=why,
        pcie_generation=why,
        pcie_width=why,
        pcie_max_generation=why,
        pcie_max_width=why,
        persistence=why,
        healthy=Known(False) if fault.code in CARD_FAILED else why,
        last_xid=last_xid,
    )


class _Readings:
    """Asks one card and remembers whether any answer said that the card itself has failed."""

    def __init__(self, ask: Ask, device: Any) -> None:
        self._ask = ask
        self._device = device
        self._failed = False

    def ask(self, question: str, *args: Any) -> Any:
        """One question, with its fault noted."""
        try:
            return self._ask(question, *args)
        except NvmlFault as fault:
            self._failed = self._failed or fault.code in CARD_FAILED
            raise

    def one(self, convert: Callable[[Any], T], *questions: tuple[Any, ...]) -> Reading[T]:
        """One reading, by the first of these questions that the driver knows."""
        try:
            answer = first_known(self.ask, tuple((name, self._device, *args) for name, *args in questions))
        except NvmlFault as fault:
            if fault.code in SESSION_ENDED:
                raise
            return Unknown(str(fault))
        return Unknown("the driver has no value") if answer == _NO_VALUE else Known(convert(answer))

    def health(self, *live: Reading[Any]) -> Reading[bool]:
        """False once the card is lost or needs a reset; True when it gave any live value; else not to be told."""
        if self._failed:
            return Known(False)
        if any(isinstance(reading, Known) for reading in live):
            return Known(True)
        return Unknown("the card gives no live reading")


def _sizes(memory: Any) -> tuple[int, int]:
    """Total and used. What the driver reserves for itself counts as used, so that the rest is what it reports free."""
    return int(memory.total), int(memory.total) - int(memory.free)


def _part(sizes: Reading[tuple[int, int]], place: int) -> Reading[int]:
    return Known(sizes.value[place]) if isinstance(sizes, Known) else sizes


def _watts(milliwatts: int) -> float:
    return milliwatts / _MILLI


def _busy(rates: Any) -> float:
    return int(rates.gpu) / _HUNDRED


def _capability(version: tuple[int, int]) -> float:
    major, minor = version
    return float(f"{major}.{minor}")
