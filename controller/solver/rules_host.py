"""What the host's memory has to hold: G5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.problem import Severity
from controller.model.profile_words import DialectName
from controller.model.reading import Unknown
from controller.solver.candidate import Candidate, RigView
from controller.solver.known import GIB, OFFLOAD, gib, number_of
from controller.solver.rule import Rule, Said, holds, skipped
from controller.solver.tenant import Finding

SHARED_FLOOR: Final = GIB
"""Shared memory that workers on several cards need."""
DOCKERS_SHM: Final = 64 * 2**20


def g5_host_memory(me: Candidate, view: RigView) -> Iterator[Said]:
    """G5: shared memory for workers on several cards, and host memory for what does not stand on a card."""
    shared, ram = _shared_memory(me, view), _ram(me, view)
    findings = [one for one in (shared, ram) if isinstance(one, Finding)]
    yield from findings or (shared if ram is None else ram,)


def _shared_memory(me: Candidate, view: RigView) -> Said:
    workers = me.tensor * (me.tenant.pipeline or 1)
    if workers == 1 or me.engine.type not in (DialectName.VLLM, DialectName.SGLANG):
        return holds("one process, which needs no shared memory")
    if me.ipc_host:
        return _host_shared(me, view, workers)
    held = DOCKERS_SHM if me.shm_bytes is None else me.shm_bytes
    if held >= SHARED_FLOOR:
        return holds(f"{gib(held)} of shared memory")
    has = "Docker's 64 MiB" if me.shm_bytes is None else f"{held / 2**20:.0f} MiB"
    message = f"{workers} workers exchange data through shared memory, and the container has {has} of it: they need 1 GiB"
    return Finding("G5", me.name, ("compose",), message, "write shm_size: 16gb or ipc: host into the template")


def _host_shared(me: Candidate, view: RigView, workers: int) -> Said:
    if isinstance(view.host.shm, Unknown):
        return skipped(f"/dev/shm of the host: {view.host.shm.reason}")
    if view.host.shm.value >= SHARED_FLOOR:
        return holds(f"{gib(view.host.shm.value)} of the host's shared memory")
    message = f"{workers} workers use the host's /dev/shm, which has {gib(view.host.shm.value)}: they need 1 GiB"
    return Finding("G5", me.name, ("compose",), message, "mount a larger tmpfs on the host's /dev/shm")


def _ram(me: Candidate, view: RigView) -> Said | None:
    """Weights in the host's memory: all of them without a card, or the part that a flag moves there."""
    needed = _in_host_memory(me)
    if not needed:
        return None
    if isinstance(view.host.ram, Unknown):
        return skipped(f"memory of the host: {view.host.ram.reason}")
    if needed <= view.host.ram.value:
        return holds(f"{gib(needed)} of {gib(view.host.ram.value)} of the host's memory")
    message = f"{gib(needed)} of weights are to stand in the host's memory, which has {gib(view.host.ram.value)}"
    return Finding("G5", me.name, ("gpus",), message, "give it a card, or take smaller weights")


def _in_host_memory(me: Candidate) -> float:
    if not me.tenant.card_count and me.weights is not None and me.weights.size_gb is not None:
        return me.weights.size_gb * 1e9
    return sum(_offloaded(me)) * GIB * me.tensor


def _offloaded(me: Candidate) -> Iterator[float]:
    """What `--cpu-offload-gb` says, which counts for each card."""
    for position, flag in enumerate(me.flags):
        name, _, value = flag.partition("=")
        following = me.flags[position + 1] if position + 1 < len(me.flags) else ""
        size = number_of(value or following)
        if name == OFFLOAD and size is not None:
            yield size


RULES: Final = (
    Rule(
        "G5",
        "shared memory and host memory enough",
        Severity.ERROR,
        "workers on several cards exchange data through /dev/shm, of which Docker gives 64 MiB; weights without a card stand in"
        " the host's memory",
        "`shm_size: 16gb` or `ipc: host` in the template",
        in_rig=g5_host_memory,
    ),
)
