"""The sets of cards that an instance may have, each with what is against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from controller.model.desired import GpuCount
from controller.solver.links import Link, in_whole_pairs, paired
from controller.solver.placement_cards import Claims, Spot, admits, is_doubtful
from controller.solver.tenant import Tenant


class Cost(NamedTuple):
    """What is against a placement, the gravest first: one placement is better than another when the first figure that differs
    is smaller.
    """

    unmet: int = 0
    """Needs of templates that are not met: NVLink, cards side by side."""
    uneven: int = 0
    """Instances with tensor parallelism over cards of unequal memory."""
    doubtful: int = 0
    """Cards of which it is not sure that they are enough: unread, unsound, or held by others too."""
    unlinked: int = 0
    """Cards outside NVLink pairs of instances that prefer NVLink."""
    capabilities: int = 0
    """Further compute capabilities within an instance, beyond its first."""
    kinds: int = 0
    """Further types of cards within an instance, beyond its first."""
    memory: int = 0
    """Bytes of the cards that are taken."""
    broken: int = 0
    """NVLink pairs of which an instance takes one card alone."""
    spoken_for: int = 0
    """Cards that instances which are stopped have been given."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One set of cards for one instance, as bits and as positions in order. `cost` has what no other instance has a part in."""

    mask: int
    cards: tuple[int, ...]
    breaks: int
    """Bits of the NVLink pairs of which it has one card alone."""
    cost: Cost
    floor: Cost
    """The least that the choice costs, whatever others have."""


@dataclass(frozen=True, slots=True)
class Table:
    """The cards with what is settled: claims of running instances, links, and the cards that stopped ones have."""

    spots: tuple[Spot, ...]
    claims: Claims
    links: tuple[Link, ...] = ()
    spoken_for: frozenset[str] = frozenset()
    _choices: dict[Tenant, tuple[Choice, ...]] = field(init=False, default_factory=dict, compare=False, repr=False)

    def choices(self, tenant: Tenant) -> tuple[Choice, ...]:
        """Every set of cards that the instance may have beside what is settled, the best by itself first."""
        demand = demand_of(tenant)
        if demand not in self._choices:
            self._choices[demand] = _choices_of(demand, self)
        return self._choices[demand]

    def memory_of(self, mask: int) -> int:
        """The memory of some cards, in bytes."""
        return sum(spot.memory for spot in self.spots if spot.bit & mask)

    def lower_equal(self) -> tuple[int | None, ...]:
        """For each card the place of the one before it that is like it in everything but its index; linked ones have none."""
        linked = {end for link in self.links for end in link}
        keys = [
            (
                spot.kind,
                spot.capability,
                spot.nominal,
                spot.card.foreign_bytes,
                spot.sound,
                claim,
                spot.card.uuid in self.spoken_for,
            )
            if spot.index not in linked
            else spot.index
            for spot, claim in zip(self.spots, self.claims, strict=True)
        ]
        return tuple(next((p for p in reversed(range(place)) if keys[p] == keys[place]), None) for place in range(len(keys)))

    def unbroken(self) -> tuple[Link, ...]:
        """The links whose cards nobody claims yet."""
        free = {spot.index for spot, claim in zip(self.spots, self.claims, strict=True) if not claim.holders}
        return tuple(link for link in self.links if free.issuperset(link))


def count_of(tenant: Tenant) -> GpuCount:
    """The count of an instance that names no cards."""
    assert isinstance(tenant.wanted, GpuCount)
    return tenant.wanted


def demand_of(tenant: Tenant) -> Tenant:
    """All of an instance that its cards depend on, and nothing else: instances that ask for the same are equal."""
    wanted, alone = count_of(tenant), tenant.card_count == 1
    if alone:
        wanted = GpuCount(count=1, nvlink="require" if wanted.nvlink == "require" else None)
    return Tenant(
        name="",
        running=True,
        port=0,
        wanted=wanted,
        exclusive=tenant.exclusive,
        tensor=2 if not alone and (tenant.tensor or 1) > 1 else None,
        needs_nvlink=tenant.needs_nvlink,
        contiguous=tenant.contiguous and not alone,
        min_vram_bytes=tenant.min_vram_bytes,
        min_compute_capability=tenant.min_compute_capability,
    )


def cost_of(choice: Choice, tenant: Tenant, table: Table) -> Cost:
    """All that is against a choice where the instance is the last one to be placed."""
    places = [(table.spots[place], table.claims[place]) for place in choice.cards]
    return choice.cost._replace(
        doubtful=sum(is_doubtful(spot, claim, tenant) for spot, claim in places),
        memory=sum(spot.memory for spot, claim in places if not claim.holders),
        broken=choice.breaks.bit_count(),
    )


def _choices_of(tenant: Tenant, table: Table) -> tuple[Choice, ...]:
    wanted, links = count_of(tenant), table.unbroken()
    admitted = [spot for spot, claim in zip(table.spots, table.claims, strict=True) if admits(spot, claim, tenant)]
    sets = (cards for cards in combinations(admitted, wanted.count) if _suits(cards, wanted, table))
    found = [_choice(tenant, cards, table, links) for cards in sets]
    return tuple(sorted(found, key=lambda choice: (cost_of(choice, tenant, table), choice.cards)))


def _suits(cards: Sequence[Spot], wanted: GpuCount, table: Table) -> bool:
    if wanted.same and len({spot.kind for spot in cards}) > 1:
        return False
    return wanted.nvlink != "require" or in_whole_pairs((spot.index for spot in cards), table.links)


def _choice(tenant: Tenant, cards: Sequence[Spot], table: Table, links: Sequence[Link]) -> Choice:
    indices = frozenset(spot.index for spot in cards)
    breaks = sum(1 << place for place, link in enumerate(links) if len(indices.intersection(link)) == 1)
    linked = paired(indices, table.links)
    cost = Cost(
        unmet=sum(_unmet(tenant, indices, linked)),
        uneven=int((tenant.tensor or 1) > 1 and len({spot.memory for spot in cards}) > 1),
        unlinked=len(indices) - linked if count_of(tenant).nvlink == "prefer" and len(indices) > 1 else 0,
        capabilities=len({spot.capability for spot in cards} - {None} or {None}) - 1,
        kinds=len({spot.kind for spot in cards}) - 1,
        spoken_for=sum(spot.card.uuid in table.spoken_for for spot in cards),
    )
    places = tuple(spot.bit.bit_length() - 1 for spot in cards)
    floor = cost
    if tenant.exclusive:
        doubtful = sum(is_doubtful(spot, table.claims[place], tenant) for spot, place in zip(cards, places, strict=True))
        floor = cost._replace(doubtful=doubtful, memory=sum(spot.memory for spot in cards))
    return Choice(sum(spot.bit for spot in cards), places, breaks, cost, floor)


def _unmet(tenant: Tenant, indices: frozenset[int], linked: int) -> Iterator[bool]:
    """One for each need of the template: whether these cards leave it unmet."""
    yield tenant.needs_nvlink and linked < len(indices)
    yield tenant.contiguous and max(indices) - min(indices) >= len(indices)
