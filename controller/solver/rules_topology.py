"""How alike the cards of one instance are, and how they are linked: C16."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from controller.model.problem import Severity
from controller.model.reading import Known, Reading, Unknown
from controller.solver.candidate import Candidate, RigView, TypedCard
from controller.solver.known import capability, cards_of, cards_text, gib, listed, no_cards, total_bytes
from controller.solver.rule import Rule, Said, holds, notes, skipped
from controller.solver.tenant import Finding
from controller.solver.topology import memory_clusters, topology_of

OLD_GENERATION: Final = 3
NARROW: Final = 4
_X4: Final = (
    "on x4 without peer-to-peer vllm/dual was measured at 70 tokens/s in text and 90 in code, with it at 77 and 103; another"
    " pair of RTX 3090, on x16 and without it, gave 91 and 114"
)
_GEN3: Final = (
    "x16 of generation 3 carries what x8 of generation 4 does, and on that vllm/dual was measured at 96 tokens/s in text and"
    " 127 in code (two RTX 3090), no less than on x16"
)


def c16_topology(me: Candidate, view: RigView) -> Iterator[Said]:
    """C16: cards that share each layer are alike, and their links are not what slows them down."""
    cards = cards_of(me)
    if (why := no_cards(me)) is not None:
        yield skipped(why)
        return
    kind = topology_of([typed.card for typed in cards])
    if isinstance(kind, Unknown):
        yield skipped(kind.reason)
    elif len(cards) == 1 or me.tensor == 1:
        yield _divided_otherwise(me, cards, kind.value.value)
    else:
        found = (*_memory(me, cards), *_compute(me, cards), *_links(me, cards, view))
        yield from found or (holds(f"{kind.value}: {cards_text(cards)}"),)


def _divided_otherwise(me: Candidate, cards: Sequence[TypedCard], kind: str) -> Said:
    if len(cards) == 1 or len(memory_clusters(_totals(cards))) == 1:
        return holds(f"{kind}: {cards_text(cards)}")
    if "tensor_split" in me.parameters:
        return holds(f"{kind}: tensor_split divides the model over {cards_text(cards)}")
    if me.tenant.tensor is None:
        return notes(f"{kind}: unless tensor_split says otherwise, the engine divides the model by what is free on each card")
    return notes(f"{kind}: the stages of a pipeline are equally large, so the smallest card decides for all of them")


def _totals(cards: Sequence[TypedCard]) -> list[int]:
    return [total for typed in cards if (total := total_bytes(typed)) is not None]


def _memory(me: Candidate, cards: Sequence[TypedCard]) -> Iterator[Finding]:
    totals = _totals(cards)
    clusters = memory_clusters(totals)
    if len(clusters) == 1:
        return
    least = min(totals)
    sizes = listed(f"card {typed.card.index} with {gib(total)}" for typed, total in zip(cards, totals, strict=True))
    message = (
        f"tensor parallelism takes the same share of every card, and these are unequal: {sizes}; "
        f"{gib(sum(totals) - least * len(totals))} would lie idle"
    )
    hint = "take cards of one size, or a llama.cpp template, which divides by memory; to run it like this anyway, waive C16"
    yield Finding("C16", me.name, ("gpus",), message, hint)


def _compute(me: Candidate, cards: Sequence[TypedCard]) -> Iterator[Finding]:
    values = {typed.card.index: capability(typed) for typed in cards}
    if len(set(values.values())) > 1:
        each = listed(f"card {index} has {value}" for index, value in values.items())
        message = f"the cards are of unequal compute capability ({each}): the oldest one decides on formats and speed"
        yield Finding("C16", me.name, ("gpus",), message, "give it cards of one type, if the rig has them", Severity.WARNING)


def _links(me: Candidate, cards: Sequence[TypedCard], view: RigView) -> Iterator[Finding]:
    indices = [typed.card.index for typed in cards]
    links = {frozenset(pair) for pair in view.facts.nvlink}
    if all(frozenset(pair) in links for pair in combinations(indices, 2)):
        return
    narrow = [typed for typed in cards if (_known(typed.card.pcie_width, typed.card.pcie_max_width) or NARROW + 1) <= NARROW]
    old = [typed for typed in cards if (_known(typed.card.pcie_max_generation) or OLD_GENERATION + 1) <= OLD_GENERATION]
    if narrow:
        message = f"every token crosses the links between the cards, and {cards_text(narrow)} run on x4 or less: {_X4}"
        hint = "move the cards to slots with more lanes, or add an NVLink bridge where the cards take one"
        yield Finding("C16", me.name, ("gpus",), message, hint, Severity.INFO)
    if old:
        yield Finding("C16", me.name, ("gpus",), f"{cards_text(old)} run on PCIe generation 3: {_GEN3}", "", Severity.INFO)


def _known(*readings: Reading[int]) -> int | None:
    return next((reading.value for reading in readings if isinstance(reading, Known)), None)


RULES: Final = (
    Rule(
        "C16",
        "cards under tensor parallelism that are alike and well linked",
        Severity.ERROR,
        "every card gets the same share of weights and KV cache, so that a larger one idles; an RTX 5090 beside an RTX 3090 Ti"
        " was measured at the pace of two RTX 3090",
        "cards of one type (`same: true`), or llama.cpp, which divides by memory",
        in_rig=c16_topology,
    ),
)
