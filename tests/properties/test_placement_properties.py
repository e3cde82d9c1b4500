"""Placement on random small rigs, held against brute force: no rule broken, the best there is, and it stays where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.desired import GpuCount
from controller.model.problem import Severity
from controller.model.reading import Known, Unknown
from controller.model.rig import Card, RigFacts
from controller.solver import Placement, Tenant, place
from tests.properties.placement_oracle import GIB, Oracle

UNREAD = Unknown("no answer")
MODELS = (
    ("RTX 3090", 23.56, 8.6),
    ("RTX 3090", 23.56, 8.6),
    ("RTX 4090", 23.52, 8.9),
    ("RTX 3080", 10.0, 8.6),
    ("RTX 5090", 31.84, 12.0),
    ("RTX 3090", None, None),
)
TROUBLES: list[dict[str, Any]] = [{}, {}, {}, {}, {"healthy": Known(False)}, {"foreign_bytes": GIB}]
CARDS = st.lists(st.sampled_from(list(product(MODELS, TROUBLES))), min_size=3, max_size=5)
COUNTS = [
    GpuCount(count=count, nvlink=nvlink, same=same)
    for count in (1, 1, 1, 1, 2, 2, 3)
    for nvlink in (None, None, None, "prefer", "require" if count > 1 else None)
    for same in (False, False, False, True)
]
SHARES = [
    {"exclusive": exclusive, "tensor": tensor}
    for exclusive, tensor in ((True, None), (True, 2), (True, 1), (True, None), (False, None))
]
NEEDS = [
    {"min_vram_bytes": memory, "min_compute_capability": capability}
    for memory, capability in product((None, None, None, 8 * GIB, 12 * GIB, 24 * GIB), (None, None, None, None, None, 8.9))
]
TEMPLATES: list[dict[str, Any]] = [{}, {}, {}, {}, {"needs_nvlink": True}, {"contiguous": True}]
FORMS = ["count"] * 8 + ["list", "kept", "stopped", "stopped list"]
DEMANDS = st.tuples(
    st.sampled_from(FORMS),
    st.sampled_from(COUNTS),
    st.sampled_from(SHARES),
    st.sampled_from(NEEDS),
    st.sampled_from(TEMPLATES),
    st.integers(0, 9),
    st.integers(0, 9),
)


def rig(models: list[Any], links: list[tuple[int, int]]) -> RigFacts:
    """Cards of these models; links to cards that are not there are left out."""
    cards = tuple(card(index, *model) for index, model in enumerate(models))
    return RigFacts(Known(cards), tuple(link for link in links if max(link) < len(cards)))


def card(index: int, model: tuple[str, float | None, float | None], trouble: dict[str, Any]) -> Card:
    """A card of this model; a few are lost, and a few are used by others."""
    name, memory, capability = model
    return Card(
        index,
        f"GPU-{index:04}",
        name,
        memory_total=UNREAD if memory is None else Known(int(memory * GIB)),
        compute_capability=UNREAD if capability is None else Known(capability),
        **trouble,
    )


def tenant(name: str, demand: Any, cards: int) -> Tenant:
    """An instance that names its cards, has them from before, or asks for a number."""
    form, wish, share, need, template, one, two = demand
    named = tuple(dict.fromkeys((one % cards, two % cards)))
    return Tenant(
        name,
        running=not form.startswith("stopped"),
        port=8000,
        wanted=named if form.endswith("list") else wish,
        kept=tuple(f"GPU-{index:04}" for index in named) if form == "kept" else None,
        cpu=True,
        **share,
        **need,
        **template,
    )


PAIRS = [(one, two) for one in range(5) for two in range(one + 1, 5)]
RIGS = st.builds(rig, CARDS, st.lists(st.sampled_from(PAIRS), unique=True, max_size=5))


def situation(facts: RigFacts, wanted: list[Any]) -> tuple[list[Tenant], RigFacts]:
    """A rig and those who want its cards."""
    assert isinstance(facts.cards, Known)
    return [tenant(f"i{number}", demand, len(facts.cards.value)) for number, demand in enumerate(wanted)], facts


SITUATIONS = st.builds(situation, RIGS, st.lists(DEMANDS, min_size=2, max_size=4))


def indices(placement: Placement, tenants: Sequence[Tenant]) -> dict[str, tuple[int, ...]]:
    """The cards that were chosen for instances which ask for a number, by index."""
    waiting = [tenant for tenant in tenants if tenant.running and tenant.kept is None and isinstance(tenant.wanted, GpuCount)]
    return {t.name: tuple(int(u[4:]) for u in placement.cards[t.name]) for t in waiting if t.name in placement.cards}


def errors(placement: Placement) -> list[str]:
    """The instances that could not be placed."""
    return [finding.instance for finding in placement.findings if finding.severity is Severity.ERROR]


@settings(max_examples=1000, deadline=None)
@given(SITUATIONS)
def test_a_placement_is_the_best_of_all_that_break_no_rule(case: tuple[list[Tenant], RigFacts]) -> None:
    """Given any small rig, when counts are placed, then the cards are those that brute force finds, or it finds none either."""
    tenants, facts = case
    oracle, found = Oracle(tenants, facts), place(tenants, facts)
    best = oracle.best()
    if best is not None:
        assert indices(found, tenants) == best
        assert errors(found) == []
        assert {tenant.name for tenant in oracle.open} <= found.reasons.keys()
    else:
        placed = indices(found, tenants)
        assert oracle.is_legal(placed)
        left = [tenant for tenant in oracle.open if tenant.name not in placed]
        assert errors(found) == [tenant.name for tenant in left]
        some = [tenant for tenant in oracle.open if tenant.name in placed]
        assert not any(next(oracle.assignments([*some, tenant]), None) for tenant in left), "there was room for one more"


@settings(max_examples=200, deadline=None)
@given(SITUATIONS)
def test_nobody_moves_in_a_second_run(case: tuple[list[Tenant], RigFacts]) -> None:
    """Given a placement, when it is made again, then it is the same; with its bindings kept, nobody moves either."""
    tenants, facts = case
    first = place(tenants, facts)
    assert place(tenants, facts) == first
    kept = [replace(tenant, kept=first.cards.get(tenant.name, tenant.kept)) for tenant in tenants]
    again = place(kept, facts)
    assert {name: again.cards[name] for name in first.cards} == first.cards


@settings(max_examples=200, deadline=None)
@given(SITUATIONS, st.sampled_from(COUNTS), st.integers(0, 4))
def test_a_stopped_instance_moves_nobody(case: tuple[list[Tenant], RigFacts], wish: GpuCount, place_at: int) -> None:
    """Given a placement, when a stopped instance without cards is added anywhere, then every other one has what it had."""
    tenants, facts = case
    newcomer = Tenant("new", running=False, port=8000, wanted=wish)
    assert place([*tenants[:place_at], newcomer, *tenants[place_at:]], facts) == place(tenants, facts)


@settings(max_examples=200, deadline=None)
@given(SITUATIONS, st.randoms(use_true_random=False))
def test_the_order_decides_nothing_but_ties(case: tuple[list[Tenant], RigFacts], random: Any) -> None:
    """Given a placement, when the instances are shuffled, then it is as good as before, also where not all find room."""
    tenants, facts = case
    oracle, first = Oracle(tenants, facts), place(tenants, facts)
    random.shuffle(tenants)
    other = place(tenants, facts)
    assert bool(errors(first)) == bool(errors(other))
    if not errors(first):
        assert oracle.cost(indices(first, tenants)) == oracle.cost(indices(other, tenants))
