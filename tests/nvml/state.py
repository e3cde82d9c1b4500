"""The shim's state file: cards as values, and the personalities of machines that people really have."""

from __future__ import annotations

from dataclasses import dataclass, replace

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ShimCard:
    """One card; an empty text leaves the reading out, which the driver answers with "not supported"."""

    uuid: str
    name: str
    total_mib: int
    reserved_mib: int = 0
    used_mib: int = 0
    compute: str = ""
    graphics: str = ""
    power: str = "23500"
    limit: str = "350000"
    temperature: str = "41"
    busy: str = "7"
    generation: str = "4"
    width: str = "16"
    persistence: str = "1"
    capability: str = "8.6"
    bus: str = "0000:01:00"
    events: str = "8"
    links: tuple[str, ...] = ()

    def lines(self, index: int) -> list[str]:
        """The card's lines of the state file."""
        memory = f"{self.total_mib * MIB} {self.reserved_mib * MIB} {self.used_mib * MIB}"
        values = {
            "uuid": self.uuid,
            "name": self.name,
            "memory": memory,
            "compute": self.compute,
            "graphics": self.graphics,
            "power": self.power,
            "limit": self.limit,
            "temperature": self.temperature,
            "busy": self.busy,
            "generation": self.generation,
            "width": self.width,
            "max_generation": "4",
            "max_width": "16",
            "persistence": self.persistence,
            "capability": self.capability,
            "bus": self.bus,
            "events": self.events,
            **{f"link.{number}": link for number, link in enumerate(self.links)},
        }
        return [f"card.{index}.{key} {value}" for key, value in values.items() if value]


@dataclass(frozen=True, slots=True)
class ShimState:
    """A whole machine; `extra` holds lines such as `fault.1 15`."""

    cards: tuple[ShimCard, ...] = ()
    driver: str = "580.65.06"
    cuda: str = "13000"
    extra: tuple[str, ...] = ()

    def text(self) -> str:
        """The state file."""
        lines = [f"driver {self.driver}", f"cuda {self.cuda}", f"cards {len(self.cards)}", *self.extra]
        for index, card in enumerate(self.cards):
            lines += card.lines(index)
        return "\n".join(lines) + "\n"

    def with_extra(self, *lines: str) -> ShimState:
        """The same machine with these lines more."""
        return replace(self, extra=(*self.extra, *lines))

    def with_card(self, index: int, card: ShimCard) -> ShimState:
        """The same machine with another card at this index."""
        return replace(self, cards=tuple(card if i == index else old for i, old in enumerate(self.cards)))


def rtx_3090(number: int, **changes: object) -> ShimCard:
    """A desktop card of 24 GiB."""
    card = ShimCard(
        f"GPU-0000309{number}-0000-4000-8000-000000000000",
        "NVIDIA GeForce RTX 3090",
        24576,
        reserved_mib=320,
        bus=f"0000:{number + 1:02x}:00",
    )
    return replace(card, **changes)  # type: ignore[arg-type]


def h100(number: int, **changes: object) -> ShimCard:
    """A data-centre card on an NVLink switch."""
    card = ShimCard(
        f"GPU-0000{number}100-0000-4000-8000-000000000000",
        "NVIDIA H100 80GB HBM3",
        81559,
        reserved_mib=551,
        limit="700000",
        capability="9.0",
        bus=f"0000:{number + 0x18:02x}:00",
        links=("switch 0000:c6:00", "switch 0000:c7:00"),
    )
    return replace(card, **changes)  # type: ignore[arg-type]


def data_centre() -> ShimState:
    """Two cards that answer everything."""
    return ShimState((h100(0), h100(1)))


def geforce() -> ShimState:
    """A desktop: one card that answers all but NVLink, one small card without power readings."""
    small = replace(
        rtx_3090(1), name="NVIDIA GeForce GT 1030", total_mib=2048, reserved_mib=64, power="", limit="", capability="6.1"
    )
    return ShimState((rtx_3090(0), small))


def wsl2() -> ShimState:
    """Windows holds the card: no memory of single processes, no persistence mode, no events."""
    return ShimState((rtx_3090(0, used_mib=9000, compute="4711:?", persistence="", events=""),))


def not_root() -> ShimState:
    """A user who may not see the power limit."""
    limits = ("fault.nvmlDeviceGetPowerManagementLimit 4", "fault.nvmlDeviceGetEnforcedPowerLimit 4")
    return ShimState((rtx_3090(0),)).with_extra(*limits)


def driver_not_loaded() -> ShimState:
    """The library is installed, the kernel module is not there."""
    return ShimState().with_extra("fault.nvmlInitWithFlags 9", "fault.nvmlDeviceGetCount_v2 1")
