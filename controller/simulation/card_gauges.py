"""What a simulated card measures of itself: plausible figures that follow from its work and differ a bit from card to card."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeVar

from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card
from controller.simulation.card_memory import Run
from controller.simulation.life import ready_at

T = TypeVar("T")

_LOST: Final = Unknown("the card is lost: it fell off the bus or is otherwise not reachable")
_WORKING: Final = 0.97
_LOADING: Final = 0.35
_IDLE_WATTS: Final = 22.0
_SHARE_OF_LIMIT: Final = 0.9
"""What a card draws of its limit when it works without a pause."""
_IDLE_CELSIUS: Final = 36
_CELSIUS_OF_WORK: Final = 32
DEFAULT_LIMIT_W: Final = 350.0
"""Of a card whose facts name no power limit."""
_PCIE_GENERATION: Final = 4
_PCIE_WIDTH: Final = 16


def utilization(runs: Iterable[Run]) -> float:
    """0 to 1: whether an engine loads or works. Its requests are those that its script makes up."""
    return max((_of_run(run) for run in runs), default=0.0)


def _of_run(run: Run) -> float:
    script = run.script.at(run.age)
    if run.paused or script.hang:
        return 0.0
    if run.age >= ready_at(script):
        return _WORKING if script.requests else 0.0
    return _LOADING if script.stall_s is None or run.age < script.stall_s else 0.0


def with_gauges(card: Card, work: float, limit_watts: float | None) -> Card:
    """The card at this utilisation and power limit, None for its own; one that idles lowers its link."""
    own = zlib.crc32(card.uuid.encode()) % 5
    limit = float(limit_watts or _of_facts(card.power_limit_watts, DEFAULT_LIMIT_W))
    idle = min(_IDLE_WATTS + own, limit)
    generation = _of_facts(card.pcie_max_generation, _PCIE_GENERATION)
    width = _of_facts(card.pcie_max_width, _PCIE_WIDTH)
    return replace(
        card,
        power_watts=Known(idle + work * max(0.0, limit * _SHARE_OF_LIMIT - idle)),
        power_limit_watts=Known(limit),
        temperature_celsius=Known(_IDLE_CELSIUS + own + round(work * _CELSIUS_OF_WORK)),
        utilization=Known(work),
        pcie_generation=Known(generation if work else 1),
        pcie_width=Known(width),
        pcie_max_generation=Known(generation),
        pcie_max_width=Known(width),
        persistence=Known(True),
        healthy=Known(True),
    )


def _of_facts(reading: Reading[T], otherwise: T) -> T:
    return reading.value if isinstance(reading, Known) else otherwise


def lost(card: Card) -> Card:
    """The card when it answers nothing any more: only who it is remains known."""
    return replace(
        card,
        memory_total=_LOST,
        memory_used=_LOST,
        processes=_LOST,
        compute_capability=_LOST,
        power_watts=_LOST,
        power_limit_watts=_LOST,
        temperature_celsius=_LOST,
        utilization=_LOST,
        pcie_generation=_LOST,
        pcie_width=_LOST,
        pcie_max_generation=_LOST,
        pcie_max_width=_LOST,
        persistence=_LOST,
        healthy=Known(False),
        foreign_bytes=0,
    )
