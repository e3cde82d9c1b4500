"""The cards of a simulated rig: what the driver would read of them, as a function of the containers and of the time line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from controller.model.observed import ContainerState
from controller.model.reading import Known, Unknown
from controller.model.rig import Card, RigFacts
from controller.ports import Clock
from controller.simulation.card_changes import CardChange, CardState, state_at
from controller.simulation.card_gauges import lost, utilization, with_gauges
from controller.simulation.card_memory import (
    DRIVER_BYTES,
    Holder,
    Run,
    Shares,
    fitting,
    foreign_holders,
    leftover_holders,
    listed,
    running_holders,
)
from controller.simulation.cell import Cell, Leftover
from controller.simulation.cells import Cells
from controller.simulation.life import MIB

DRIVER: Final = "580.65.06"
CUDA: Final = "13.0"


class SimulatedGpus:
    """Implements ports.GpuProbe for containers of either layer. `changes` are the time line, from the construction on.

    What somebody does to the cards at once is set on the object: `foreign` bytes by UUID, `lost` UUIDs, and `fails`, the reason
    why the driver cannot be asked.
    """

    def __init__(self, facts: RigFacts, cells: Cells, clock: Clock, changes: Sequence[CardChange] = ()) -> None:
        """The cards of these facts, under these containers."""
        self.facts = facts
        self.changes = tuple(changes)
        self.foreign: dict[str, int] = {}
        self.lost: set[str] = set()
        self.fails = ""
        self._cells = cells
        self._clock = clock
        self._began = clock.now().mono
        self._shares = Shares()

    def read(self) -> RigFacts:
        """All cards now."""
        cards = self.facts.cards.value if isinstance(self.facts.cards, Known) else ()
        state = state_at(self.changes, self._clock.now().mono - self._began, len(cards))
        if reason := self.fails or state.unreadable:
            why = Unknown(reason)
            return RigFacts(why, driver=why, cuda=why, origin=self.facts.origin)
        with self._cells.lock:
            use = self._use()
            told = tuple(self._card(cards[index], place, state.cards[index], use) for place, index in enumerate(state.order))
        return replace(
            self.facts,
            cards=Known(told),
            nvlink=_links(self.facts.nvlink, state.order, told),
            driver=self.facts.driver if isinstance(self.facts.driver, Known) else Known(DRIVER),
            cuda=Known(CUDA),
        )

    def _use(self) -> _Use:
        """The containers now, all seen at one moment."""
        self._cells.settle()
        wall = self._clock.now().wall
        cells = [cell for cell in self._cells.by_id.values() if cell.gpus and cell.seen.running]
        runs = tuple(_run(cell, wall) for cell in sorted(cells, key=lambda cell: cell.started_at or 0.0))
        leftovers = tuple(self._cells.leftovers)
        self._shares.forget_all_but({*(run.pid for run in runs), *(left.pid for left in leftovers)})
        return _Use(wall, runs, leftovers)

    def _card(self, card: Card, place: int, state: CardState, use: _Use) -> Card:
        if state.lost or card.uuid in self.lost:
            return replace(lost(card), index=place, last_xid=Known(state.xid))
        here = use.of(card.uuid)
        holders = self._holders(card, state, here)
        used = replace(
            card,
            index=place,
            last_xid=Known(state.xid),
            memory_used=Known(DRIVER_BYTES + sum(holder.held for holder in holders)),
            processes=Known(listed(holders)),
        )
        return with_gauges(used, utilization(here.runs), state.power_limit_w)

    def _holders(self, card: Card, state: CardState, here: _Use) -> tuple[Holder, ...]:
        """Who was there first keeps what it has: neighbours of old, remains of earlier runs, the engines, then newcomers."""
        total = card.memory_total.value if isinstance(card.memory_total, Known) else 0
        before = foreign_holders({"foreign": card.foreign_bytes + self.foreign.get(card.uuid, 0)})
        newcomers = foreign_holders({name: mib * MIB for name, mib in state.foreign.items()})
        remains = leftover_holders(here.leftovers, self._shares, here.wall)
        taken = DRIVER_BYTES + sum(holder.held for holder in (*before, *remains, *newcomers))
        self._shares.give(here.runs, card.uuid, total, taken)
        running = running_holders(here.runs, card.uuid, self._shares)
        return fitting((*before, *remains, *running, *newcomers), max(0, total - DRIVER_BYTES))


@dataclass(frozen=True, slots=True)
class _Use:
    """The runs on cards at one moment of Unix time, in the order of their starts, and those that are over."""

    wall: float
    runs: tuple[Run, ...]
    leftovers: tuple[Leftover, ...]

    def of(self, uuid: str) -> _Use:
        """Those of one card."""
        return _Use(
            self.wall,
            tuple(run for run in self.runs if uuid in run.gpus),
            tuple(left for left in self.leftovers if left.uuid == uuid),
        )


def _run(cell: Cell, wall: float) -> Run:
    paused = cell.seen.state is ContainerState.PAUSED
    return Run(cell.seen.pid, cell.name, cell.gpus, cell.script, cell.age(wall), paused)


def _links(pairs: Sequence[tuple[int, int]], order: Sequence[int], told: Sequence[Card]) -> tuple[tuple[int, int], ...]:
    """The pairs at their present indices; a lost card links nothing."""
    at = {index: place for place, index in enumerate(order) if told[place].healthy == Known(True)}
    return tuple(sorted((min(at[a], at[b]), max(at[a], at[b])) for a, b in pairs if a in at and b in at))
