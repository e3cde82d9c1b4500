"""The cards of a rig as facts: from the driver, from a file, or from a grammar text such as `2x:rtx-3090`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from controller.model.reading import Reading, Unknown

NOT_READ: Final = Unknown("cards not readable")


@dataclass(frozen=True, slots=True)
class CardProcess:
    """A process that holds memory of a card; `used_bytes` Unknown where the driver does not tell."""

    pid: int
    used_bytes: Reading[int]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One card: who it is, and what could be read of it now.

    Memory in bytes, power in watts, temperature in degrees Celsius, utilisation 0 to 1. `last_xid` is the driver's code of
    the last fault since the card is watched, Known(None) when there was none. `profile` is the id of its hardware profile when
    the facts name one.
    """

    index: int
    uuid: str
    name: str
    memory_total: Reading[int] = NOT_READ
    memory_used: Reading[int] = NOT_READ
    processes: Reading[tuple[CardProcess, ...]] = NOT_READ
    compute_capability: Reading[float] = NOT_READ
    power_watts: Reading[float] = NOT_READ
    power_limit_watts: Reading[float] = NOT_READ
    temperature_celsius: Reading[int] = NOT_READ
    utilization: Reading[float] = NOT_READ
    pcie_generation: Reading[int] = NOT_READ
    pcie_width: Reading[int] = NOT_READ
    pcie_max_generation: Reading[int] = NOT_READ
    pcie_max_width: Reading[int] = NOT_READ
    persistence: Reading[bool] = NOT_READ
    healthy: Reading[bool] = NOT_READ
    last_xid: Reading[int | None] = NOT_READ
    profile: str | None = None
    foreign_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RigFacts:
    """All cards of one rig, by index; `nvlink` holds pairs of indices, `ram` and `shm` what the host has in all, in bytes."""

    cards: Reading[tuple[Card, ...]]
    nvlink: tuple[tuple[int, int], ...] = ()
    driver: Reading[str] = NOT_READ
    cuda: Reading[str] = NOT_READ
    origin: str = "auto"
    notes: tuple[str, ...] = field(default=())
    ram: Reading[int] = Unknown("not read")
    shm: Reading[int] = Unknown("not read")
