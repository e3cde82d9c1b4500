"""Which cards reach each other over NVLink: directly, or through the same kind of switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, TypeAlias

from controller.adapters.nvml_card import Handle
from controller.adapters.nvml_words import INVALID_ARGUMENT, NOT_OFFERED, SESSION_ENDED, Ask, NvmlFault

_MOST_LINKS: Final = 36
_SWITCH: Final = 2
_END_OF_LINKS: Final = NOT_OFFERED | {INVALID_ARGUMENT}

Address: TypeAlias = tuple[int, int, int]


@dataclass(slots=True)
class Links:
    """What was found: pairs of indices, lower first, and a sentence for each card whose links could not be read."""

    pairs: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def read_links(ask: Ask, handles: Sequence[Handle]) -> Links:
    """The active links between these cards."""
    found = Links()
    at: dict[Address, int] = {}
    for handle in handles:
        address = _asked(ask, found, handle, "nvmlDeviceGetPciInfo", handle.device)
        if address is not None:
            at[_address(address)] = handle.index
    switched: list[int] = []
    for handle in handles:
        _follow(ask, handle, at, switched, found)
    found.pairs.update(combinations(sorted(switched), 2))
    return found


def _follow(ask: Ask, handle: Handle, at: dict[Address, int], switched: list[int], found: Links) -> None:
    """Follow every active link of one card to its other end."""
    for link in range(_MOST_LINKS):
        try:
            active = ask("nvmlDeviceGetNvLinkState", handle.device, link)
        except NvmlFault as fault:
            if fault.code not in _END_OF_LINKS:
                _note(found, handle, fault)
            return
        if not active:
            continue
        remote = _asked(ask, found, handle, "nvmlDeviceGetNvLinkRemotePciInfo", handle.device, link)
        peer = None if remote is None else at.get(_address(remote))
        if peer is not None and peer != handle.index:
            found.pairs.add((min(peer, handle.index), max(peer, handle.index)))
        elif peer is None and handle.index not in switched and _leads_to_switch(ask, handle, link):
            switched.append(handle.index)


def _leads_to_switch(ask: Ask, handle: Handle, link: int) -> bool:
    try:
        return bool(ask("nvmlDeviceGetNvLinkRemoteDeviceType", handle.device, link) == _SWITCH)
    except NvmlFault as fault:
        if fault.code in SESSION_ENDED:
            raise
        return False


def _asked(ask: Ask, found: Links, handle: Handle, question: str, *args: Any) -> Any:
    """The answer, or None with a note."""
    try:
        return ask(question, *args)
    except NvmlFault as fault:
        _note(found, handle, fault)
        return None


def _note(found: Links, handle: Handle, fault: NvmlFault) -> None:
    if fault.code in SESSION_ENDED:
        raise fault
    note = f"NVLink of card {handle.index} is not readable: {fault}"
    if note not in found.notes:
        found.notes.append(note)


def _address(info: Any) -> Address:
    return int(info.domain), int(info.bus), int(info.device)
