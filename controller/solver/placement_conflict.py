"""Why an instance has no cards: who is in its way, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from controller.model.desired import GpuCount
from controller.solver.placement_cards import allows, claims_of
from controller.solver.placement_choices import Table, count_of
from controller.solver.placement_search import Budget, solve
from controller.solver.placement_words import card_list, enough_text, rig_text, wish_text
from controller.solver.tenant import Finding, Tenant

_HELPS: Final = 3
"""Ways out that one finding names."""
_NAMED: Final = 5
"""Instances or cards that one finding names of a kind."""
_CROWDED: Final = "ask for fewer cards, stop other instances, or name the cards"
_TOO_MUCH: Final = "ask for fewer cards, or take a template that needs less"


@dataclass(frozen=True, slots=True)
class Crowd:
    """Everybody who claims cards: `held` are settled, `placed` asked for a number of cards and could be placed together."""

    table: Table
    held: Sequence[tuple[Tenant, tuple[str, ...]]]
    placed: Sequence[Tenant]
    budget: Budget

    def fits(self, tenant: Tenant, rivals: Sequence[Tenant], without: str = "") -> bool:
        """Whether there is room for the instance and these rivals, with one holder of cards gone."""
        held = [(holder, uuids) for holder, uuids in self.held if holder.name != without]
        table = replace(self.table, claims=claims_of(self.table.spots, held)) if without else self.table
        return solve([*rivals, tenant], table, self.budget, any_will_do=True).chosen is not None

    def could(self, tenant: Tenant) -> bool:
        """Whether the rig has cards for the instance when nobody else is on it."""
        return bool(replace(self.table, claims=claims_of(self.table.spots, ())).choices(tenant))


def placeable(tenants: Sequence[Tenant], table: Table, budget: Budget) -> list[Tenant]:
    """Of instances that cannot all be placed, those that can: in file order, each one that still finds room."""
    placed: list[Tenant] = []
    for tenant in tenants:
        if solve([*placed, tenant], table, budget, any_will_do=True).chosen is not None:
            placed.append(tenant)
    return placed


def no_room(tenant: Tenant, crowd: Crowd) -> Finding:
    """The finding about an instance that has no cards, with who is in its way and the single changes that would help."""
    lesser = [f"write {way}" for way in _lesser(tenant, crowd)]
    if not crowd.could(tenant):
        return _finding(tenant, [_wish_and_rig(tenant, crowd)], lesser, _TOO_MUCH)
    rivals = _rivals(tenant, crowd)
    stops = list(islice(_stops(tenant, crowd, rivals), _HELPS))
    ways = [*lesser, *([f"set state: stopped on {_names(stops, 'or')}"] if stops else [])]
    parts = [_wish_and_rig(tenant, crowd), *_holders(crowd), _unclaimed(tenant, crowd, [rival.name for rival in rivals])]
    return _finding(tenant, parts, ways, _CROWDED, rivals[0].name if rivals else "")


def no_room_by_turns(tenant: Tenant, crowd: Crowd) -> Finding:
    """The same on a rig that is too large to search: what is there and who has it."""
    return _finding(tenant, [_wish_and_rig(tenant, crowd), *_holders(crowd), _unclaimed(tenant, crowd, ())], (), _CROWDED)


def _finding(tenant: Tenant, parts: Sequence[str], ways: Sequence[str], otherwise: str, other: str = "") -> Finding:
    return Finding("E1", tenant.name, ("gpus",), "; ".join(parts), ", or ".join(ways) or otherwise, other=other)


def _wish_and_rig(tenant: Tenant, crowd: Crowd) -> str:
    cards = [spot.card for spot in crowd.table.spots]
    return f"no {wish_text(tenant)}: the rig has {rig_text(cards)}{enough_text(tenant, crowd.table)}"


def _holders(crowd: Crowd) -> Iterator[str]:
    """Who claims which cards."""
    index = {spot.card.uuid: spot.index for spot in crowd.table.spots}
    holding = [(tenant, [index[uuid] for uuid in uuids if uuid in index]) for tenant, uuids in crowd.held]
    holding = [(tenant, indices) for tenant, indices in holding if indices]
    yield from (f"{tenant.name} has {card_list(indices)}" for tenant, indices in holding[:_NAMED])
    if len(holding) > _NAMED:
        yield f"{len(holding) - _NAMED} more have cards"


def _unclaimed(tenant: Tenant, crowd: Crowd, rivals: Sequence[str]) -> str:
    """What nobody claims of the cards that are enough, and who asks for it too."""
    both = zip(crowd.table.spots, crowd.table.claims, strict=True)
    free = [spot.index for spot, claim in both if not claim.holders and allows(spot, tenant)]
    if not free:
        return "none is unclaimed" + (f", {_names(rivals, 'and')} would share too" if rivals else "")
    wanted = f"wanted by {_names(rivals, 'and')} too" if rivals else "unclaimed"
    return f"{card_list(free)} {'is' if len(free) == 1 else 'are'} {wanted}"


def _rivals(tenant: Tenant, crowd: Crowd) -> list[Tenant]:
    """The fewest placed instances, from the last on, beside which there is no room: without any one of them there would be."""
    rivals = list(crowd.placed)
    for rival in reversed(crowd.placed):
        fewer = [other for other in rivals if other is not rival]
        if not crowd.fits(tenant, fewer):
            rivals = fewer
    return rivals


def _stops(tenant: Tenant, crowd: Crowd, rivals: Sequence[Tenant]) -> Iterator[str]:
    """Single instances without which there is room beside all others."""
    for holder, uuids in crowd.held:
        if uuids and crowd.fits(tenant, crowd.placed, without=holder.name):
            yield holder.name
    for rival in rivals:
        if crowd.fits(tenant, [other for other in crowd.placed if other is not rival]):
            yield rival.name


def _lesser(tenant: Tenant, crowd: Crowd) -> Iterator[str]:
    """Lesser wishes that would be met."""
    wanted = count_of(tenant)
    lesser: dict[str, GpuCount] = {}
    if wanted.nvlink == "require":
        lesser["nvlink: prefer"] = wanted.model_copy(update={"nvlink": "prefer"})
    if wanted.same:
        lesser["same: false"] = wanted.model_copy(update={"same": False})
    for text, wish in lesser.items():
        if crowd.fits(replace(tenant, wanted=wish), crowd.placed):
            yield text


def _names(names: Sequence[str], word: str) -> str:
    """`a, b and c`, with the word before the last."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} {word} {len(names) - _NAMED} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
