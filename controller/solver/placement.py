"""Which cards each instance gets: a binding is kept, a list is looked up, a count takes the first cards that fit.

First fit in file order over cards in index order: deterministic, and enough while few instances leave the choice open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from controller.model.desired import GpuCount
from controller.model.reading import Unknown
from controller.model.rig import Card, RigFacts
from controller.solver.tenant import Finding, Tenant, listed_twice


@dataclass(frozen=True, slots=True)
class Placement:
    """The cards of each instance that has some (UUIDs in order), and what could not be placed."""

    cards: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class _Draft:
    """The placement while it is made; `taken` are cards that running instances hold."""

    facts: RigFacts
    table: tuple[Card, ...]
    cards: dict[str, tuple[str, ...]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def give(self, tenant: Tenant, uuids: tuple[str, ...]) -> None:
        self.cards[tenant.name] = uuids
        if tenant.running:
            self.taken.update(uuids)


def place(tenants: Sequence[Tenant], facts: RigFacts) -> Placement:
    """Bind every instance; where the cards are Unknown only what was bound before stays bound."""
    known = not isinstance(facts.cards, Unknown)
    draft = _Draft(facts, () if isinstance(facts.cards, Unknown) else facts.cards.value)
    open_counts: list[Tenant] = []
    for tenant in tenants:
        if tenant.kept is not None:
            draft.give(tenant, tenant.kept)
        elif isinstance(tenant.wanted, GpuCount):
            open_counts.append(tenant)
        elif known or not tenant.wanted:
            _look_up(draft, tenant, tenant.wanted)
    if known:
        for tenant in sorted(open_counts, key=lambda t: not t.running):
            _first_fit(draft, tenant)
    return Placement(draft.cards, tuple(draft.findings))


def _look_up(draft: _Draft, tenant: Tenant, wanted: tuple[int | str, ...]) -> None:
    by_index = {card.index: card.uuid for card in draft.table}
    uuids = {card.uuid.lower(): card.uuid for card in draft.table}
    found: list[str] = []
    for position, token in enumerate(wanted):
        uuid = by_index.get(token) if isinstance(token, int) else uuids.get(token.lower())
        if uuid is None:
            draft.findings.append(_outside(draft, tenant, position, token))
        elif uuid in found:
            draft.findings.append(listed_twice(tenant.name, position, token))
        else:
            found.append(uuid)
    if len(found) == len(wanted):
        draft.give(tenant, tuple(found))


def _outside(draft: _Draft, tenant: Tenant, position: int, token: int | str) -> Finding:
    message, hint = f"the rig has no card {token}", f"the rig has {rig_text(draft.table)}"
    return Finding("E1", tenant.name, ("gpus", position), message, hint)


def rig_text(table: Sequence[Card]) -> str:
    """The cards of a rig in a few words, for hints."""
    if not table:
        return "no card"
    indices = [card.index for card in table]
    if len(indices) > 1 and indices == list(range(indices[0], indices[-1] + 1)):
        return f"cards {indices[0]} to {indices[-1]}"
    return ("card " if len(indices) == 1 else "cards ") + ", ".join(str(index) for index in indices)


def _first_fit(draft: _Draft, tenant: Tenant) -> None:
    wanted = tenant.wanted
    assert isinstance(wanted, GpuCount)
    free = [card for card in draft.table if card.uuid not in draft.taken]
    chosen = _choose(free, wanted, draft.facts.nvlink)
    if chosen is not None:
        draft.give(tenant, tuple(card.uuid for card in chosen))
    elif tenant.running:
        draft.findings.append(_no_room(draft, tenant, wanted, free))


def _choose(free: Sequence[Card], wanted: GpuCount, links: Iterable[tuple[int, int]]) -> tuple[Card, ...] | None:
    pools = _pools(free) if wanted.same else [list(free)]
    if wanted.nvlink:
        for pool in pools:
            if linked := _linked(pool, wanted.count, links):
                return linked
    if wanted.nvlink == "require":
        return None
    return next((tuple(pool[: wanted.count]) for pool in pools if len(pool) >= wanted.count), None)


def _pools(free: Sequence[Card]) -> list[list[Card]]:
    """Free cards by model, in the order of each model's first card."""
    pools: dict[str, list[Card]] = {}
    for card in free:
        pools.setdefault(card.name, []).append(card)
    return list(pools.values())


def _linked(pool: Sequence[Card], count: int, links: Iterable[tuple[int, int]]) -> tuple[Card, ...] | None:
    """The first cards that make whole NVLink pairs, in index order; None when they do not reach the count."""
    by_index = {card.index: card for card in pool}
    chosen: dict[int, Card] = {}
    for one, two in sorted(tuple(sorted(pair)) for pair in links):
        if len(chosen) + 2 <= count and one in by_index and two in by_index and not {one, two} & chosen.keys():
            chosen |= {one: by_index[one], two: by_index[two]}
    return tuple(chosen[index] for index in sorted(chosen)) if len(chosen) == count else None


def _no_room(draft: _Draft, tenant: Tenant, wanted: GpuCount, free: Sequence[Card]) -> Finding:
    kinds = (" of one model" if wanted.same else "") + (" in NVLink pairs" if wanted.nvlink == "require" else "")
    cards = "card" if wanted.count == 1 else "cards"
    unclaimed = f"unclaimed: {', '.join(str(card.index) for card in free)}" if free else "every card is claimed"
    return Finding(
        "E1",
        tenant.name,
        ("gpus",),
        f"no {wanted.count} free {cards}{kinds}: the rig has {rig_text(draft.table)}, {unclaimed}",
        "ask for fewer, stop another instance, or name the cards",
    )
