"""Who holds memory of a simulated card: running engines as their scripts say, runs that are over until it has come back, and
processes that are nobody's.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

from controller.model.profile import DialectName
from controller.model.reading import Known
from controller.model.rig import CardProcess
from controller.simulation.cell import Leftover
from controller.simulation.engine.script import Script
from controller.simulation.life import MIB, ready_at

DEFAULT_SHARE: Final = 0.6
"""Of a card's memory: what an engine takes whose script names no figure, as far as the card has room for it."""
DRIVER_BYTES: Final = 300 * MIB
"""What the driver holds of a card on which nothing runs."""
RELEASE_STEPS: Final = 3
_MADE_UP_PIDS: Final = 5_000_000
"""Above every pid that a kernel gives, so that nobody takes a process of the machine for one of the simulation's."""
_WORKERS: Final = {
    DialectName.VLLM: "VLLM::EngineCore",
    DialectName.LLAMACPP: "llama-server",
    DialectName.SGLANG: "sglang::scheduler",
}


class Run(NamedTuple):
    """An engine that runs on these cards, `age` seconds after its start."""

    pid: int
    name: str
    gpus: tuple[str, ...]
    script: Script
    age: float
    paused: bool


@dataclass(frozen=True, slots=True)
class Holder:
    """A process with bytes of a card."""

    pid: int
    name: str
    held: int


def listed(holders: Iterable[Holder]) -> tuple[CardProcess, ...]:
    """As the driver lists them: each process once, by pid."""
    found: dict[int, tuple[int, str]] = {}
    for holder in holders:
        found[holder.pid] = (found.get(holder.pid, (0, ""))[0] + holder.held, holder.name)
    return tuple(CardProcess(pid, Known(held), name) for pid, (held, name) in sorted(found.items()))


def held_bytes(script: Script, age: float, share_mib: int) -> int:
    """What a run of this age holds of a card: its figure, else its share, grows with the load, and then by the growth."""
    now = script.at(age)
    until = now.load_s if now.stall_s is None else min(now.load_s, now.stall_s)
    loaded = max(0.0, min(age, until)) / now.load_s if now.load_s > 0 else 1.0
    figure = share_mib if now.vram_mib is None else now.vram_mib
    return int((figure * loaded + _grown_mib(script, age)) * MIB)


def _grown_mib(script: Script, age: float) -> float:
    """Each stretch between two changes of the script adds what grew in it."""
    ready = ready_at(script.at(age))
    if ready >= age:
        return 0.0
    ages = [ready, *sorted(change.at_s for change in script.changes if ready < change.at_s < age), age]
    return sum((end - begin) / 60 * script.at(begin).growth_mib_per_min for begin, end in pairwise(ages))


def foreign_pid(name: str) -> int:
    """The pid of a process that only the simulation knows."""
    return _MADE_UP_PIDS + zlib.crc32(name.encode()) % 1_000_000


def foreign_holders(bytes_by_name: Mapping[str, int]) -> tuple[Holder, ...]:
    """Processes that are nobody's."""
    return tuple(Holder(foreign_pid(name), name, held) for name, held in bytes_by_name.items() if held)


class Shares:
    """What engines whose script names no figure got when they began: it stays theirs until they have given it back."""

    def __init__(self) -> None:
        """Nobody has begun."""
        self._mib: dict[tuple[int, str], int] = {}

    def of(self, pid: int, uuid: str) -> int:
        """The share of a run in MiB; 0 where it has none."""
        return self._mib.get((pid, uuid), 0)

    def give(self, runs: Iterable[Run], uuid: str, total: int, taken: int) -> None:
        """Let every run that is new on this card have its share, of what is free of the `total` bytes, `taken` aside."""
        found = tuple(runs)
        fixed = sum(self.of(run.pid, uuid) if run.script.vram_mib is None else run.script.vram_mib for run in found)
        room = max(0, (total - taken) // MIB - fixed)
        for run in found:
            if run.script.vram_mib is None and (run.pid, uuid) not in self._mib:
                share = min(int(total * DEFAULT_SHARE) // MIB, room)
                self._mib[run.pid, uuid] = share
                room -= share

    def forget_all_but(self, pids: set[int]) -> None:
        """Drop what belongs to runs that hold nothing any more."""
        self._mib = {key: mib for key, mib in self._mib.items() if key[0] in pids}


def running_holders(runs: Iterable[Run], uuid: str, shares: Shares) -> tuple[Holder, ...]:
    """The engines on a card."""
    held = ((run, held_bytes(run.script, run.age, shares.of(run.pid, uuid))) for run in runs)
    return tuple(Holder(run.pid, run.name, size) for run, size in held if size)


def leftover_holders(leftovers: Iterable[Leftover], shares: Shares, wall: float) -> tuple[Holder, ...]:
    """What runs that are over still hold of a card: memory that comes back in steps, and a worker that nobody ended."""
    holders = []
    for left in leftovers:
        script = left.script.at(left.ran_s)
        residue = script.residue_mib * MIB
        coming_back = max(0, held_bytes(left.script, left.ran_s, shares.of(left.pid, left.uuid)) - residue)
        steps = RELEASE_STEPS
        if script.release_s > 0:
            steps = min(RELEASE_STEPS, int((wall - left.ended_at) * RELEASE_STEPS / script.release_s))
        if held := coming_back * (RELEASE_STEPS - steps) // RELEASE_STEPS:
            holders.append(Holder(left.pid, left.name, held))
        if residue:
            worker = _WORKERS.get(left.dialect, "engine-worker")
            holders.append(Holder(_MADE_UP_PIDS + left.pid, worker, residue))
    return tuple(holders)


def fitting(holders: Iterable[Holder], room: int) -> tuple[Holder, ...]:
    """No more than the card has: who comes last gets what is left of it."""
    fitted = []
    for holder in holders:
        fitted.append(holder if holder.held <= room else replace(holder, held=room))
        room -= fitted[-1].held
    return tuple(holder for holder in fitted if holder.held)
