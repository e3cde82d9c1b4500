"""Cards as places to be: what each one is, what is claimed of it, and whether one more instance goes there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from controller.model.profile_hardware import HardwareProfile
from controller.model.reading import Known, Unknown
from controller.model.rig import Card
from controller.solver.card_memory import nominal_bytes
from controller.solver.tenant import Tenant
from controller.solver.topology import memory_clusters

UNREAD: Final = 1 << 50
"""Bytes that stand for a memory which could not be read: more than any card has, so that such cards are taken last."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One card. `memory` in bytes is the same for all cards of one size; `kind` is the same for cards of one type and size."""

    card: Card
    bit: int
    memory: int
    nominal: int | None
    kind: tuple[str, int]
    capability: float | None
    sound: bool

    @property
    def index(self) -> int:
        """The card's index."""
        return self.card.index


@dataclass(frozen=True, slots=True)
class Claim:
    """What running instances claim of one card; `demand` is the sum of the needs that are known, in bytes."""

    holders: int = 0
    alone: bool = False
    demand: int = 0
    all_known: bool = True

    def with_(self, tenant: Tenant) -> Claim:
        """The same with one more."""
        need = tenant.min_vram_bytes
        known = self.all_known and need is not None
        return Claim(self.holders + 1, self.alone or tenant.exclusive, self.demand + (need or 0), known)


Claims: TypeAlias = tuple[Claim, ...]
"""Of each card, in the cards' order."""


def spots_of(cards: Sequence[Card], types: Mapping[str, HardwareProfile]) -> tuple[Spot, ...]:
    """The cards in index order; `types` are their profiles by UUID."""
    totals = [card.memory_total.value for card in cards if isinstance(card.memory_total, Known)]
    sizes = {total: cluster[-1] for cluster in memory_clusters(totals) for total in cluster}
    ordered = sorted(cards, key=lambda card: card.index)
    return tuple(_spot(card, 1 << place, sizes, types.get(card.uuid)) for place, card in enumerate(ordered))


def _spot(card: Card, bit: int, sizes: Mapping[int, int], profile: HardwareProfile | None) -> Spot:
    memory = UNREAD if isinstance(card.memory_total, Unknown) else sizes[card.memory_total.value]
    typical = None if profile is None else float(profile.compute_capability)
    capability = card.compute_capability.value if isinstance(card.compute_capability, Known) else typical
    sound = not (isinstance(card.healthy, Known) and not card.healthy.value)
    return Spot(card, bit, memory, nominal_bytes(card, profile), (card.profile or card.name, memory), capability, sound)


def allows(spot: Spot, tenant: Tenant) -> bool:
    """Whether the card by itself is enough for the instance, as far as it could be read."""
    need, least = tenant.min_vram_bytes, tenant.min_compute_capability
    too_small = need is not None and spot.nominal is not None and spot.nominal < need
    too_old = least is not None and spot.capability is not None and spot.capability < least
    return not (too_small or too_old)


def admits(spot: Spot, claim: Claim, tenant: Tenant) -> bool:
    """Whether the instance may go on this card beside those that claim it: all of them share, and their needs have room."""
    if not allows(spot, tenant):
        return False
    if not claim.holders:
        return True
    together = claim.demand + (tenant.min_vram_bytes or 0)
    return not (claim.alone or tenant.exclusive) and (spot.nominal is None or together <= spot.nominal)


def is_doubtful(spot: Spot, claim: Claim, tenant: Tenant) -> bool:
    """Whether it is not sure that an admitted instance can run there: something is unread, unsaid, unsound or held by others.

    A card once doubtful stays so, whoever else joins.
    """
    if not spot.sound or (tenant.min_compute_capability is not None and spot.capability is None):
        return True
    joined = claim.with_(tenant)
    if joined.holders == 1 and tenant.min_vram_bytes is None:
        return False
    room = None if spot.nominal is None else spot.nominal - spot.card.foreign_bytes
    return not joined.all_known or room is None or joined.demand > room


def claims_of(spots: Sequence[Spot], held: Iterable[tuple[Tenant, Sequence[str]]]) -> Claims:
    """The claims of instances whose cards are settled."""
    claims = {spot.card.uuid: Claim() for spot in spots}
    for tenant, uuids in held:
        for uuid in uuids:
            if uuid in claims:
                claims[uuid] = claims[uuid].with_(tenant)
    return tuple(claims[spot.card.uuid] for spot in spots)
