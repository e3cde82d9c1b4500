"""Everything around the engine in memory: the clock that a test moves, workers without threads, the host and its cards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from controller.model.moment import Instant
from controller.model.observed import Listener
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card, CardProcess, RigFacts
from controller.ports import Finished, HostMemory
from controller.simulation.memory_engine import MemoryEngine

EPOCH: Final = 1_767_225_600.0
"""2026-01-01: a fixed beginning, so that a run prints the same text every time."""
_GIB: Final = 2**30
_MIB: Final = 2**20
_DRIVER_BYTES: Final = 300 * _MIB
"""What a driver holds on an idle card."""


@dataclass(slots=True)
class MemoryClock:
    """Both clocks, standing still until somebody moves them."""

    wall: float = EPOCH
    mono: float = 1000.0

    def now(self) -> Instant:
        """The present."""
        return Instant(self.wall, self.mono)

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self.wall += seconds
        self.mono += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back, as NTP does."""
        self.wall += seconds


@dataclass(slots=True)
class MemoryWorkers:
    """Lanes without threads: a job is over when `submit` returns, its lane is free once it was collected."""

    closed: bool = False
    _ended: list[Finished] = field(default_factory=list)

    def submit(self, lane: str, key: str, job: Callable[[], object]) -> bool:
        """Run the job now; False when the lane is busy."""
        if self.closed or self.busy(lane):
            return False
        try:
            self._ended.append(Finished(lane, key, value=job()))
        except Exception as error:  # noqa: BLE001 - the job's boundary, as in a worker's thread
            self._ended.append(Finished(lane, key, error=error))
        return True

    def busy(self, lane: str) -> bool:
        """Whether a job of the lane has not been collected yet."""
        return any(finished.lane == lane for finished in self._ended)

    def collect(self) -> tuple[Finished, ...]:
        """What ended since the last call."""
        ended, self._ended = tuple(self._ended), []
        return ended

    def close(self, timeout_s: float) -> bool:  # noqa: ARG002 - there is nothing to wait for
        """Take no more work; nothing runs in between."""
        self.closed = True
        return True


@dataclass(slots=True)
class MemoryHost:
    """The machine under the engine in memory; set `listeners_fail` or `memory_fails` to the reason of a failed read."""

    engine: MemoryEngine
    ram: HostMemory = HostMemory(total=64 * _GIB, available=48 * _GIB, shm_total=32 * _GIB)
    disk_bytes: int = 500 * _GIB
    full: set[str] = field(default_factory=set)
    """Paths without a free byte."""
    listeners_fail: str = ""
    memory_fails: str = ""

    def listeners(self) -> Reading[tuple[Listener, ...]]:
        """What other programs listen on, and the published ports of running containers."""
        if self.listeners_fail:
            return Unknown(self.listeners_fail)
        cells = self.engine.cells
        cells.settle()
        published = [
            Listener(cell.bind, port, pid=cell.seen.pid, process="docker-proxy")
            for cell in cells.by_id.values()
            if cell.seen.running
            for port in cell.seen.host_ports
        ]
        return Known((*cells.listeners, *published))

    def memory(self) -> Reading[HostMemory]:
        """RAM."""
        return Unknown(self.memory_fails) if self.memory_fails else Known(self.ram)

    def disk_free(self, path: str) -> Reading[int]:
        """The same everywhere but on full paths."""
        return Known(0 if path in self.full else self.disk_bytes)


@dataclass(slots=True)
class MemoryGpus:
    """Cards whose memory is what the running containers' scripts take, plus what others hold.

    `foreign` holds other processes' bytes by UUID, `lost` the UUIDs of dead cards; `fails` is the reason of a failed read.
    """

    engine: MemoryEngine
    cards: tuple[Card, ...]
    foreign: dict[str, int] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    fails: str = ""

    def read(self) -> RigFacts:
        """All cards now."""
        if self.fails:
            return RigFacts(Unknown(self.fails))
        return RigFacts(Known(tuple(self._card(card) for card in self.cards)), driver=Known("580.65"), origin="memory")

    def _card(self, card: Card) -> Card:
        if card.uuid in self.lost:
            reason = Unknown("GPU is lost")
            return replace(card, memory_used=reason, processes=reason, healthy=Known(False))
        processes = self._processes(card.uuid)
        used = sum(process.used_bytes.value for process in processes if isinstance(process.used_bytes, Known))
        return replace(card, memory_used=Known(used + _DRIVER_BYTES), processes=Known(processes), healthy=Known(True))

    def _processes(self, uuid: str) -> tuple[CardProcess, ...]:
        self.engine.cells.settle()
        ours = [
            CardProcess(cell.seen.pid, Known(cell.script.vram_bytes), cell.seen.name)
            for cell in self.engine.cells.by_id.values()
            if cell.seen.running and uuid in cell.gpus and cell.script.vram_bytes
        ]
        held = self.foreign.get(uuid, 0)
        return (*ours, CardProcess(2000, Known(held), "foreign")) if held else tuple(ours)


def memory_cards(count: int, *, name: str = "NVIDIA GeForce RTX 3090", gib: int = 24) -> tuple[Card, ...]:
    """Cards of one kind with the fixed UUIDs of the simulation."""
    return tuple(
        Card(
            index=index,
            uuid=f"GPU-5157e3a0-0000-4000-8000-{index:012d}",
            name=name,
            memory_total=Known(gib * _GIB),
            compute_capability=Known(8.6),
            profile="rtx-3090",
        )
        for index in range(count)
    )
