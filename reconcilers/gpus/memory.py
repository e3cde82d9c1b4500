"""Whether the cards of an instance have the memory that it asks for, before it is started on them. Pure.

Asked once nobody of ours holds the cards any more: then all that is used is somebody else's, or has not come back yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.reading import Known
from controller.model.resolved import ResolvedInstance
from controller.model.rig import Card, CardProcess
from reconcilers.view import View

_GIB: Final = 2**30
_NAMED: Final = 3
"""Processes that one sentence names, the largest first."""


def short_of_memory(view: View, instance: ResolvedInstance) -> str:
    """Which card has too little left and who holds it; empty when all is well, or not known."""
    return next(_shortages(view, instance), "")


def _shortages(view: View, instance: ResolvedInstance) -> Iterator[str]:
    cards = view.situation.observed.cards.cards
    for card in cards.value if isinstance(cards, Known) else ():
        wanted = instance.memory_claims.get(card.uuid)
        if wanted is None or not isinstance(card.memory_total, Known) or not isinstance(card.memory_used, Known):
            continue
        free = card.memory_total.value - card.memory_used.value
        if free < wanted:
            yield f"card {card.index} has {_gib(free)} free of the {_gib(wanted)} that are needed: {_holders(card)}"


def _holders(card: Card) -> str:
    if not isinstance(card.processes, Known):
        return "who holds the rest is not readable"
    sized = [(process, process.used_bytes.value) for process in card.processes.value if isinstance(process.used_bytes, Known)]
    largest = sorted(sized, key=lambda pair: (-pair[1], pair[0].pid))
    named = [_holder(process, size) for process, size in largest[:_NAMED]]
    named += [f"{_name(process)} holds some" for process in card.processes.value if not isinstance(process.used_bytes, Known)]
    return ", ".join(named) or "no process of this machine holds it, so it may come back in a moment"


def _holder(process: CardProcess, size: int) -> str:
    return f"{_name(process)} holds {_gib(size)}"


def _name(process: CardProcess) -> str:
    return f"pid {process.pid} ({process.name})" if process.name else f"pid {process.pid}"


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
