"""Which cards each instance gets: a binding is kept, a list is looked up, and counts are placed where they fit best.

Placed are the running instances that ask for a number of cards and have no binding yet, all of them together:

1. Whenever there is an assignment that breaks no claim, one is found. A card belongs to one running instance, or to several
   that share it and whose memory fits together; it is as large and as capable as the template needs; `nvlink: require` means
   whole pairs and `same: true` one type. A reading that is not to be had excludes no card.
2. No instance moves. A binding holds as long as the text of its `gpus`, so that the only instance that could be said to have
   moved is one whose card left the rig: it stays bound too, and is named, because a card that cannot be read looks the same.
3. Of all assignments the one of least `Cost`, in which the gravest figure decides first: needs of templates, parallelism over
   equal memory, cards that are surely enough, preferred NVLink, equal cards, the least memory, whole NVLink pairs, and cards
   that no stopped instance was given. Cards side by side are sought only for templates that require it.
4. Among equals the lowest indices, for the instance that comes first in the file.

So the order of the instances decides nothing but ties. A stopped instance claims nothing and is given no cards before it runs.
The search is exact for rigs of up to `MOST_CARDS` cards and `MOST_OPEN` instances to place, and gives up after a fixed number
of steps (`placement_search.STEPS`), which it then says. Beyond that each instance, in turn, takes the first cards that fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from controller.model.desired import GpuCount
from controller.model.problem import Severity
from controller.model.profile_hardware import HardwareProfile
from controller.model.reading import Unknown
from controller.model.rig import Card, RigFacts
from controller.solver.placement_cards import claims_of, spots_of
from controller.solver.placement_choices import Choice, Table
from controller.solver.placement_conflict import Crowd, no_room, no_room_by_turns, placeable
from controller.solver.placement_first_fit import first_fit
from controller.solver.placement_search import STEPS, Budget, Solution, solve
from controller.solver.placement_words import first_text, kept_text, outside, reason_text
from controller.solver.tenant import Finding, Tenant, listed_twice

MOST_CARDS: Final = 8
"""Cards of a rig up to which the best placement is searched for."""
MOST_OPEN: Final = 16
"""Instances without cards up to which the best placement is searched for."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The cards of each instance that has some (UUIDs in order), and what could not be placed.

    `reasons` say why an instance that asked for a number of cards has these, such as `cards 2, 3: the only free NVLink pair`.
    """

    cards: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Draft:
    """The placement while it is made; `held` are the cards that running instances claim."""

    table: tuple[Card, ...]
    cards: dict[str, tuple[str, ...]] = field(default_factory=dict)
    held: list[tuple[Tenant, tuple[str, ...]]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    def give(self, tenant: Tenant, uuids: tuple[str, ...]) -> None:
        self.cards[tenant.name] = uuids
        if tenant.running:
            self.held.append((tenant, uuids))


def place(tenants: Sequence[Tenant], facts: RigFacts, types: Mapping[str, HardwareProfile] | None = None) -> Placement:
    """Bind every instance that runs; `types` are the cards' profiles by UUID.

    Where the cards are Unknown only what was bound before stays bound.
    """
    known = not isinstance(facts.cards, Unknown)
    draft = _Draft(() if isinstance(facts.cards, Unknown) else facts.cards.value)
    waiting: list[Tenant] = []
    for tenant in tenants:
        if tenant.kept is not None:
            _keep(draft, tenant, tenant.kept, known=known)
        elif isinstance(tenant.wanted, GpuCount):
            waiting.append(tenant)
        elif known or not tenant.wanted:
            _look_up(draft, tenant, tenant.wanted)
    waiting = [tenant for tenant in waiting if tenant.running]
    if known and waiting:
        _place_all(draft, waiting, _table(draft, tenants, facts, types or {}))
    return Placement(draft.cards, tuple(draft.findings), draft.reasons)


def _keep(draft: _Draft, tenant: Tenant, uuids: tuple[str, ...], *, known: bool) -> None:
    draft.give(tenant, uuids)
    present = {card.uuid for card in draft.table}
    gone = [uuid for uuid in uuids if uuid not in present] if known else []
    if isinstance(tenant.wanted, GpuCount):
        draft.reasons[tenant.name] = kept_text(uuids, draft.table)
    if gone and tenant.running:
        message = f"{', '.join(gone)}, which it was given, is not on this rig"
        hint = "it stays bound until its gpus text changes"
        draft.findings.append(Finding("E1", tenant.name, ("gpus",), message, hint, Severity.WARNING))


def _look_up(draft: _Draft, tenant: Tenant, wanted: tuple[int | str, ...]) -> None:
    by_index = {card.index: card.uuid for card in draft.table}
    uuids = {card.uuid.lower(): card.uuid for card in draft.table}
    found: list[str] = []
    for position, token in enumerate(wanted):
        uuid = by_index.get(token) if isinstance(token, int) else uuids.get(token.lower())
        if uuid is None:
            draft.findings.append(outside(tenant, position, token, draft.table))
        elif uuid in found:
            draft.findings.append(listed_twice(tenant.name, position, token))
        else:
            found.append(uuid)
    if len(found) == len(wanted):
        draft.give(tenant, tuple(found))


def _table(draft: _Draft, tenants: Sequence[Tenant], facts: RigFacts, types: Mapping[str, HardwareProfile]) -> Table:
    spots = spots_of(draft.table, types)
    stopped = {tenant.name for tenant in tenants if not tenant.running}
    spoken_for = frozenset(uuid for name, uuids in draft.cards.items() if name in stopped for uuid in uuids)
    return Table(spots, claims_of(spots, draft.held), facts.nvlink, spoken_for)


def _place_all(draft: _Draft, waiting: Sequence[Tenant], table: Table) -> None:
    if len(table.spots) > MOST_CARDS or len(waiting) > MOST_OPEN:
        _place_by_turns(draft, waiting, table)
        return
    placed, solution = _solved(waiting, table)
    if solution.chosen is None or not solution.complete:
        draft.findings.append(_gave_up(waiting, found=solution.chosen is not None))
    if solution.chosen is None:
        return
    crowd = Crowd(table, tuple(draft.held), placed, Budget())
    draft.findings += [no_room(tenant, crowd) for tenant in waiting if tenant not in placed]
    for tenant, choice in zip(placed, solution.chosen, strict=True):
        draft.give(tenant, tuple(table.spots[place].card.uuid for place in choice.cards))
    for tenant, choice in zip(placed, solution.chosen, strict=True):
        draft.reasons[tenant.name] = _reason(draft, tenant, choice, table)


def _solved(waiting: Sequence[Tenant], table: Table) -> tuple[Sequence[Tenant], Solution]:
    """Everybody with a choice each, or those who find room together; no choice where the search ended too early to know."""
    solution = solve(waiting, table, Budget())
    if solution.chosen is not None or not solution.complete:
        return waiting, solution
    budget = Budget()
    placed = placeable(waiting, table, budget)
    return placed, solve(placed, table, Budget()) if budget.left > 0 else Solution(None, complete=False)


def _reason(draft: _Draft, tenant: Tenant, choice: Choice, table: Table) -> str:
    """Why these cards, seen beside what everybody else has."""
    others = [(holder, uuids) for holder, uuids in draft.held if holder is not tenant]
    mine = set(draft.cards[tenant.name])
    sharers = [holder.name for holder, uuids in others if mine.intersection(uuids)]
    return reason_text(tenant, choice, replace(table, claims=claims_of(table.spots, others)), sharers)


def _gave_up(waiting: Sequence[Tenant], *, found: bool) -> Finding:
    """The search came to its bound: with a placement that holds but may not be the best, or with none."""
    names, hint = ", ".join(tenant.name for tenant in waiting), "name the cards of some of them"
    if found:
        message = f"other cards may suit {names} better: after {STEPS} tries the best placement until then was taken"
        return Finding("E1", waiting[0].name, ("gpus",), message, hint, Severity.INFO)
    return Finding("E1", waiting[0].name, ("gpus",), f"no cards were found for {names} within {STEPS} tries", hint)


def _place_by_turns(draft: _Draft, waiting: Sequence[Tenant], table: Table) -> None:
    placed = first_fit(waiting, table)
    for tenant in waiting:
        if spots := placed.get(tenant.name):
            draft.give(tenant, tuple(spot.card.uuid for spot in spots))
            draft.reasons[tenant.name] = first_text(spots)
    crowd = Crowd(replace(table, claims=claims_of(table.spots, draft.held)), tuple(draft.held), (), Budget())
    draft.findings += [no_room_by_turns(tenant, crowd) for tenant in waiting if tenant.name not in placed]
