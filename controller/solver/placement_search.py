"""Branch and bound over sets of cards: the best placement of all open instances together, or that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Final, TypeAlias

from controller.solver.placement_cards import Claims, admits, is_doubtful
from controller.solver.placement_choices import Choice, Cost, Table, demand_of
from controller.solver.tenant import Tenant

STEPS: Final = 30_000
"""Sets of cards that are tried for all instances of one placement; a fraction of a second. What is found until then stands."""

Chosen: TypeAlias = tuple[Choice, ...]


@dataclass(slots=True)
class Budget:
    """Steps that are left, for one search or for several that belong together."""

    left: int = STEPS


@dataclass(frozen=True, slots=True)
class Solution:
    """One choice for each open instance, None where none was found; `complete`: the search came to its end."""

    chosen: Chosen | None
    complete: bool


def solve(tenants: Sequence[Tenant], table: Table, budget: Budget, *, any_will_do: bool = False) -> Solution:
    """The placement of least cost, or the first one that is found; ties by the cards' indices, instance by instance."""
    search = _Search(tenants, table, budget, any_will_do, [table.choices(tenant) for tenant in tenants])
    if all(search.choices):
        search.descend((), _State(table.claims))
    return Solution(search.best[1] if search.best else None, budget.left > 0 or (any_will_do and search.best is not None))


@dataclass(frozen=True, slots=True)
class _State:
    """What the choices so far have made of the cards; masks of cards, and of links in `broken`."""

    claims: Claims
    taken: int = 0
    alone: int = 0
    doubtful: int = 0
    broken: int = 0
    cost: Cost = Cost()


@dataclass(slots=True)
class _Search:
    tenants: Sequence[Tenant]
    table: Table
    budget: Budget
    any_will_do: bool
    choices: Sequence[tuple[Choice, ...]]
    best: tuple[Cost, Chosen] | None = None
    by_floor: list[tuple[Choice, ...]] = field(init=False)
    """The choices of each instance once more, those first that cost the least whatever others have."""
    twins: list[int | None] = field(init=False)
    """The instance before that asks for the same in every respect: of two such, the first has the lower cards."""
    held: int = field(init=False)
    """Bits of the cards that are claimed from the beginning."""
    lower: Sequence[int | None] = field(init=False)
    """For each card the place of an equal one before it, so that equal cards are taken in order."""
    seats: list[int] = field(init=False)
    """Cards that the instances from each place on need for themselves."""

    def __post_init__(self) -> None:
        """Sum up from the end what is still to come."""
        self.by_floor = [tuple(sorted(choices, key=lambda choice: choice.floor)) for choices in self.choices]
        self.seats = [0]
        for tenant in reversed(self.tenants):
            self.seats.insert(0, self.seats[0] + (tenant.card_count if tenant.exclusive else 0))
        self.held = sum(spot.bit for spot, claim in zip(self.table.spots, self.table.claims, strict=True) if claim.holders)
        demands = [demand_of(tenant) for tenant in self.tenants]
        contiguous = any(demand.contiguous for demand in demands)
        self.lower = (None,) * len(self.table.spots) if contiguous else self.table.lower_equal()
        self.twins = [_last_equal(demands, place) for place in range(len(demands))]

    def descend(self, chosen: Chosen, state: _State) -> None:
        """Try every choice of the next instance."""
        place = len(chosen)
        if place == len(self.tenants):
            self.best = (state.cost, chosen)
            return
        twin = self.twins[place]
        for choice in self.choices[place]:
            if self.budget.left <= 0 or (self.any_will_do and self.best):
                return
            self.budget.left -= 1
            if (twin is not None and choice.cards < chosen[twin].cards) or self._has_lower_equal(choice, state):
                continue
            after = self._after(state, self.tenants[place], choice)
            if after is not None and self._is_worth_it((*chosen, choice), after):
                self.descend((*chosen, choice), after)

    def _has_lower_equal(self, choice: Choice, state: _State) -> bool:
        """Whether a card could be changed for a lower one that nobody has and that is like it in everything else."""
        used = state.taken | choice.mask
        for place in choice.cards:
            lower = self.lower[place]
            if lower is not None and not used & 1 << lower and not state.taken & 1 << place:
                return True
        return False

    def _after(self, state: _State, tenant: Tenant, choice: Choice) -> _State | None:
        """The state with this choice taken, None where the cards do not admit it any more."""
        claims, doubtful = list(state.claims), state.doubtful
        for place in choice.cards:
            spot, claim = self.table.spots[place], claims[place]
            if not admits(spot, claim, tenant):
                return None
            if is_doubtful(spot, claim, tenant):
                doubtful |= spot.bit
            claims[place] = claim.with_(tenant)
        broken = state.broken | choice.breaks
        cost = _sum(state.cost, choice.cost)._replace(
            doubtful=doubtful.bit_count(),
            memory=state.cost.memory + self.table.memory_of(choice.mask & ~state.taken & ~self.held),
            broken=broken.bit_count(),
        )
        alone = state.alone | (choice.mask if tenant.exclusive else 0)
        return _State(tuple(claims), state.taken | choice.mask, alone, doubtful, broken, cost)

    def _is_worth_it(self, chosen: Chosen, state: _State) -> bool:
        """Whether what follows can be complete, and better than the best so far: cheaper, or as cheap with lower cards."""
        place = len(chosen)
        bound = self._bound(place, state)
        if bound is None or self.best is None:
            return bound is not None
        cost, best = self.best
        return bound < cost or (bound == cost and [c.cards for c in chosen] <= [c.cards for c in best[:place]])

    def _bound(self, place: int, state: _State) -> Cost | None:
        """The least that a placement with these choices costs; None where somebody would find no cards.

        Costs are compared figure by figure, so that the sum of everybody's least is the least of the sums. The memory of all
        together is also that of the smallest cards which are left, at least.
        """
        bound = state.cost
        for tenant, choices in zip(self.tenants[place:], self.by_floor[place:], strict=True):
            closed = state.taken if tenant.exclusive else state.alone
            least = next((choice.floor for choice in choices if not choice.mask & closed), None)
            if least is None:
                return None
            bound = _sum(bound, least)
        free = sorted(s.memory for s in self.table.spots if not s.bit & (state.taken | self.held))
        if self.seats[place] > len(free):
            return None
        memory = state.cost.memory + sum(free[: self.seats[place]])
        if memory <= bound.memory:
            return bound
        return bound._replace(memory=memory, broken=state.cost.broken, spoken_for=state.cost.spoken_for)


def _sum(one: Cost, two: Cost) -> Cost:
    return Cost(*map(add, one, two))


def _last_equal(demands: Sequence[Tenant], place: int) -> int | None:
    return next((before for before in reversed(range(place)) if demands[before] == demands[place]), None)
