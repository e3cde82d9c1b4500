"""Everything around the engine in memory: the clock that a test moves, workers without threads, the host and its cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from controller.errors import StewardError
from controller.model.moment import Instant
from controller.model.observed import Listener
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card
from controller.ports import Finished, HostMemory
from controller.simulation.container_engine import SimulatedEngine

EPOCH: Final = 1_767_225_600.0
"""2026-01-01: a fixed beginning, so that a run prints the same text every time."""
_GIB: Final = 2**30
_TICK: Final = 1e-6
"""Moments nearer than this are the same: sums of seconds are not exact."""


@dataclass(slots=True)
class MemoryClock:
    """Both clocks, standing still until somebody moves them or a call takes its time."""

    wall: float = EPOCH
    mono: float = 1000.0
    _spent: float | None = None

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

    def spend(self, seconds: float) -> None:
        """A call takes so long: time passes, or, in a job on a lane, the job will be over that much later."""
        if self._spent is None:
            self.advance(seconds)
        else:
            self._spent += seconds

    @contextmanager
    def aside(self) -> Iterator[Callable[[], float]]:
        """While the block runs, what calls take does not move the clock; the function that it gives says how long they took."""
        self._spent = 0.0
        try:
            yield lambda: self._spent or 0.0
        finally:
            self._spent = None


@dataclass(slots=True)
class MemoryWorkers:
    """Lanes without threads: a job has its effects when it is submitted, and is over when the clock has got as far as the job
    took. Its lane is free once it was collected. An error that Steward does not foresee is a mistake and ends whatever runs.
    """

    clock: MemoryClock
    closed: bool = False
    _jobs: list[tuple[float, Finished]] = field(default_factory=list)

    def submit(self, lane: str, key: str, job: Callable[[], object]) -> bool:
        """Run the job now; False when the lane is busy."""
        if self.closed or self.busy(lane):
            return False
        with self.clock.aside() as spent:
            try:
                finished = Finished(lane, key, value=job())
            except StewardError as error:
                finished = Finished(lane, key, error=error)
            self._jobs.append((self.clock.mono + spent(), finished))
        return True

    def busy(self, lane: str) -> bool:
        """Whether a job of the lane has not been collected yet."""
        return any(finished.lane == lane for _, finished in self._jobs)

    def collect(self) -> tuple[Finished, ...]:
        """What ended since the last call, in the order of ending."""
        due = self.clock.mono + _TICK
        over = sorted((job for job in self._jobs if job[0] <= due), key=lambda job: job[0])
        self._jobs = [job for job in self._jobs if job[0] > due]
        return tuple(finished for _, finished in over)

    def next_at(self) -> float | None:
        """The moment (monotonic seconds) at which the next job is over; None without one."""
        return min((at for at, _ in self._jobs), default=None)

    def close(self, timeout_s: float) -> bool:
        """Take no more work and wait for what runs; False when something would run for longer than `timeout_s` seconds."""
        self.closed = True
        return all(at <= self.clock.mono + timeout_s for at, _ in self._jobs)


@dataclass(slots=True)
class MemoryHost:
    """The machine under the engine in memory; set `listeners_fail` or `memory_fails` to the reason of a failed read."""

    engine: SimulatedEngine
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
