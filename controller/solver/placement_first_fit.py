"""Placement on a rig that is too large to search: each instance in file order takes the first cards that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.solver.links import in_whole_pairs
from controller.solver.placement_cards import Spot, admits, is_doubtful
from controller.solver.placement_choices import Table, count_of
from controller.solver.tenant import Tenant


def first_fit(tenants: Sequence[Tenant], table: Table) -> dict[str, tuple[Spot, ...]]:
    """The cards of each instance that found some; in NVLink pairs and of one type where that can be had."""
    placed: dict[str, tuple[Spot, ...]] = {}
    for tenant in tenants:
        cards = _cards_for(tenant, table)
        if cards:
            placed[tenant.name] = cards
            claims = tuple(
                claim.with_(tenant) if spot in cards else claim for spot, claim in zip(table.spots, table.claims, strict=True)
            )
            table = replace(table, claims=claims)
    return placed


def _cards_for(tenant: Tenant, table: Table) -> tuple[Spot, ...]:
    wanted = count_of(tenant)
    admitted = [(spot, claim) for spot, claim in zip(table.spots, table.claims, strict=True) if admits(spot, claim, tenant)]
    ranked = sorted((is_doubtful(spot, claim, tenant), spot.memory, spot.index) for spot, claim in admitted)
    by_index = {spot.index: spot for spot, _ in admitted}
    ordered = [by_index[index] for _, _, index in ranked]
    pools = _pools(ordered) if wanted.same else [*_pools(ordered), ordered]
    if wanted.nvlink or tenant.needs_nvlink:
        for pool in pools:
            if linked := _linked(pool, wanted.count, table):
                return linked
    if wanted.nvlink == "require":
        return ()
    return next((_in_order(pool[: wanted.count]) for pool in pools if len(pool) >= wanted.count), ())


def _pools(spots: Sequence[Spot]) -> list[list[Spot]]:
    """The cards of each type, in the order of each type's first card."""
    pools: dict[tuple[str, int], list[Spot]] = {}
    for spot in spots:
        pools.setdefault(spot.kind, []).append(spot)
    return list(pools.values())


def _linked(pool: Sequence[Spot], count: int, table: Table) -> tuple[Spot, ...]:
    """The first cards that make whole NVLink pairs; none when those do not reach the count."""
    by_index = {spot.index: spot for spot in pool}
    chosen: dict[int, Spot] = {}
    for one, two in sorted((min(link), max(link)) for link in table.links):
        if len(chosen) + 2 <= count and one in by_index and two in by_index and not {one, two} & chosen.keys():
            chosen |= {one: by_index[one], two: by_index[two]}
    return _in_order(list(chosen.values())) if len(chosen) == count and in_whole_pairs(chosen, table.links) else ()


def _in_order(spots: Sequence[Spot]) -> tuple[Spot, ...]:
    return tuple(sorted(spots, key=lambda spot: spot.index))
