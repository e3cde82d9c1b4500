"""Who holds memory of a card, or Unknown: an incomplete list would let a neighbour's memory pass for free.

In a container without the host's process ids the driver lists nobody, or ids that mean other processes here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from controller.adapters.nvml_words import NOT_OFFERED, SESSION_ENDED, Ask, NvmlFault, first_known
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import CardProcess

_FIRST_NAMESPACE: Final = "pid:[4026531836]"
"""The kernel's fixed number of the host's own process-id namespace."""
_HIDDEN: Final = Unknown(
    "the driver shows no processes to a container without the host's process ids (start it with `--pid=host`)"
)
_OTHER_IDS: Final = Unknown("the driver's process ids are not of this container (start it with `--pid=host`)")
_NO_SIZE: Final = Unknown("the driver does not tell the memory of single processes here")


@dataclass(frozen=True, slots=True)
class Residents:
    """Reads the processes of cards and looks up their names below `proc`."""

    proc: Path

    def of(self, ask: Ask, handle: Any) -> Reading[tuple[CardProcess, ...]]:
        """The processes that compute or draw on this card, by process id."""
        try:
            holders = _merged((*_compute(ask, handle), *_graphics(ask, handle)))
        except NvmlFault as fault:
            if fault.code in SESSION_ENDED:
                raise
            return Unknown(str(fault))
        if self._in_own_namespace():
            if not holders:
                return _HIDDEN
            if not all((self.proc / str(pid)).exists() for pid in holders):
                return _OTHER_IDS
        return Known(tuple(CardProcess(pid, used, self._name(pid)) for pid, used in sorted(holders.items())))

    def _in_own_namespace(self) -> bool:
        try:
            return str((self.proc / "self/ns/pid").readlink()) != _FIRST_NAMESPACE
        except OSError:
            return False  # a kernel without namespaces has only one

    def _name(self, pid: int) -> str:
        try:
            return (self.proc / str(pid) / "comm").read_text(errors="replace").strip()
        except OSError:
            return ""  # it ended meanwhile, or belongs to another user of a hardened kernel


def _compute(ask: Ask, handle: Any) -> Iterable[Any]:
    name = "nvmlDeviceGetComputeRunningProcesses"
    answer: Iterable[Any] = first_known(ask, ((f"{name}_v3", handle), (f"{name}_v2", handle)))
    return answer


def _graphics(ask: Ask, handle: Any) -> Iterable[Any]:
    name = "nvmlDeviceGetGraphicsRunningProcesses"
    try:
        answer: Iterable[Any] = first_known(ask, ((f"{name}_v3", handle), (f"{name}_v2", handle)))
    except NvmlFault as fault:
        if fault.code in NOT_OFFERED:
            return ()  # a card that cannot draw has nobody who draws
        raise
    return answer


def _merged(entries: Iterable[Any]) -> dict[int, Reading[int]]:
    """By process id: one that computes and draws stands in both lists with the same memory."""
    holders: dict[int, Reading[int]] = {}
    for entry in entries:
        used = _NO_SIZE if entry.usedGpuMemory is None else Known(int(entry.usedGpuMemory))
        before = holders.get(entry.pid)
        if not isinstance(before, Known) or (isinstance(used, Known) and used.value > before.value):
            holders[entry.pid] = used
    return holders
