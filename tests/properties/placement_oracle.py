"""Placement by brute force: every assignment is looked at, and judged by the rules alone; the solver has no part in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from controller.model.desired import GpuCount
from controller.model.reading import Known
from controller.model.rig import Card, RigFacts
from controller.solver import Tenant

GIB = 2**30
GB = 10**9
Assignment = dict[str, tuple[int, ...]]
"""Indices of the cards of each running instance."""


def total(card: Card) -> int | None:
    """The memory that the driver reports."""
    return card.memory_total.value if isinstance(card.memory_total, Known) else None


def capability(card: Card) -> float | None:
    """The compute capability."""
    return card.compute_capability.value if isinstance(card.compute_capability, Known) else None


def nominal(card: Card) -> float | None:
    """What the memory is called, for a card without a profile."""
    found = total(card)
    return None if found is None else int(found / 0.98)


def size(card: Card, cards: Sequence[Card]) -> int:
    """The largest memory that is reached from this card's in steps of at most 1 GB; unread cards are the largest of all."""
    found = total(card)
    if found is None:
        return 1 << 50
    known = sorted(memory for other in cards if (memory := total(other)) is not None)
    for memory in known:
        if 0 < memory - found <= GB:
            found = memory
    return found


def most_paired(indices: Sequence[int], links: Sequence[tuple[int, int]]) -> int:
    """The most cards in disjoint linked pairs, over every set of links."""
    usable = sorted({(min(link), max(link)) for link in links if set(link) <= set(indices)})
    for count in range(len(usable), 0, -1):
        for chosen in combinations(usable, count):
            ends = [end for link in chosen for end in link]
            if len(set(ends)) == len(ends):
                return len(ends)
    return 0


class Oracle:
    """One rig with everybody who wants cards."""

    def __init__(self, tenants: Sequence[Tenant], facts: RigFacts) -> None:
        """Settle what names its cards; the rest waits for an assignment."""
        assert isinstance(facts.cards, Known)
        self.cards = facts.cards.value
        self.by_index = {card.index: card for card in self.cards}
        self.links = facts.nvlink
        by_uuid = {card.uuid: card.index for card in self.cards}
        self.tenants = {tenant.name: tenant for tenant in tenants}
        self.settled: Assignment = {}
        self.open: list[Tenant] = []
        self.spoken_for: set[int] = set()
        for tenant in tenants:
            uuids = tenant.kept
            named = () if isinstance(tenant.wanted, GpuCount) else tenant.wanted
            indices = tuple(i for i in named if isinstance(i, int)) if uuids is None else tuple(by_uuid[u] for u in uuids)
            if not tenant.running:
                self.spoken_for |= set(indices)
            elif uuids is None and isinstance(tenant.wanted, GpuCount):
                self.open.append(tenant)
            else:
                self.settled[tenant.name] = indices

    def holders(self, given: Mapping[str, tuple[int, ...]]) -> dict[int, list[Tenant]]:
        """Who is on each card."""
        everyone = {**self.settled, **given}
        return {i: [self.tenants[name] for name, cards in everyone.items() if i in cards] for i in self.by_index}

    def is_legal(self, given: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether no placed instance breaks a claim, a need or a wish that it cannot do without."""
        on = self.holders(given)
        return all(self._is_legal_for(self.tenants[name], indices, on) for name, indices in given.items())

    def _is_legal_for(self, tenant: Tenant, indices: tuple[int, ...], on: Mapping[int, list[Tenant]]) -> bool:
        wanted = tenant.wanted
        assert isinstance(wanted, GpuCount)
        if len(set(indices)) != wanted.count:
            return False
        if wanted.nvlink == "require" and most_paired(indices, self.links) != wanted.count:
            return False
        if wanted.same and len({self.kind(i) for i in indices}) > 1:
            return False
        return all(self._is_enough(tenant, self.by_index[i], on[i]) for i in indices)

    def _is_enough(self, tenant: Tenant, card: Card, on: Sequence[Tenant]) -> bool:
        least, there = tenant.min_compute_capability, capability(card)
        if least is not None and there is not None and there < least:
            return False
        if len(on) > 1 and any(other.exclusive for other in on):
            return False
        room = nominal(card)
        return room is None or sum(other.min_vram_bytes or 0 for other in on) <= room

    def kind(self, index: int) -> tuple[str, int]:
        """What makes two cards equal."""
        card = self.by_index[index]
        return card.name, size(card, self.cards)

    def cost(self, given: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        """The objective, as the documentation of the placement states it."""
        on, free = self.holders(given), {i for i, there in self.holders({}).items() if not there}
        pairs = [(self.tenants[name], indices) for name, indices in given.items()]
        used = {i for _, indices in pairs for i in indices}
        links = {(min(link), max(link)) for link in self.links if set(link) <= free}
        return (
            sum(self._unmet(tenant, indices) for tenant, indices in pairs),
            sum((t.tensor or 1) > 1 and len({self.kind(i)[1] for i in indices}) > 1 for t, indices in pairs),
            sum(self._is_doubtful(self.by_index[i], on[i], [t for t, mine in pairs if i in mine]) for i in used),
            sum(len(indices) - most_paired(indices, self.links) for t, indices in pairs if self._prefers(t)),
            sum(max(0, len({c for i in mine if (c := capability(self.by_index[i])) is not None}) - 1) for _, mine in pairs),
            sum(len({self.kind(i) for i in indices}) - 1 for _, indices in pairs),
            sum(self.kind(i)[1] for i in used & free),
            sum(any(len(set(link) & set(indices)) == 1 for _, indices in pairs) for link in links),
            sum(len(self.spoken_for & set(indices)) for _, indices in pairs),
        )

    def _unmet(self, tenant: Tenant, indices: tuple[int, ...]) -> int:
        apart = tenant.contiguous and any(two - one != 1 for one, two in pairwise(indices))
        return int(tenant.needs_nvlink and most_paired(indices, self.links) < len(indices)) + int(apart)

    def _prefers(self, tenant: Tenant) -> bool:
        assert isinstance(tenant.wanted, GpuCount)
        return tenant.wanted.nvlink == "prefer" and tenant.wanted.count > 1

    def _is_doubtful(self, card: Card, on: Sequence[Tenant], placed: Sequence[Tenant]) -> bool:
        if card.healthy == Known(False):
            return True
        if capability(card) is None and any(tenant.min_compute_capability is not None for tenant in placed):
            return True
        needs = [tenant.min_vram_bytes for tenant in on]
        if needs == [None]:
            return False
        room = nominal(card)
        return None in needs or room is None or sum(need or 0 for need in needs) > room - card.foreign_bytes

    def best(self) -> Assignment | None:
        """The legal assignment of least cost, with the lowest indices for the first instances; None where there is none."""
        key = lambda given: (self.cost(given), [given[tenant.name] for tenant in self.open])  # noqa: E731 - read once, below
        return min(self.assignments(self.open), key=key, default=None)

    def assignments(self, tenants: Sequence[Tenant]) -> Iterator[Assignment]:
        """Every legal assignment of these instances."""

        def extended(given: Assignment, left: Sequence[Tenant]) -> Iterator[Assignment]:
            if not left:
                yield given
                return
            for indices in combinations(sorted(self.by_index), left[0].card_count):
                longer = {**given, left[0].name: indices}
                if self.is_legal(longer):
                    yield from extended(longer, left[1:])

        yield from extended({}, tenants)
