"""One function a rule: it reads claims and facts, and yields what is wrong. Ids are those that the older tooling made known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from controller.model.desired import GpuCount
from controller.model.problem import Severity
from controller.model.reading import Unknown
from controller.model.rig import RigFacts
from controller.solver.tenant import Finding, Tenant, listed_twice

KNOWN_RULES: Final = frozenset({*(f"C{n}" for n in range(1, 17)), *(f"E{n}" for n in range(1, 5))})
"""Ids that a waiver may name."""
NEVER_WAIVED: Final = frozenset({"C1", "E1", "E4"})
"""A broken one of these cannot run at all, so that a waiver would promise what nobody can keep."""
CARDS_NOT_READABLE: Final = "cards not readable"
_NAMED: Final = 5
"""Other claimants of a card that one finding names."""


@dataclass(frozen=True, slots=True)
class Rig:
    """What every rule looks at: the claims, the cards as facts, and which cards each instance was given."""

    tenants: Sequence[Tenant]
    facts: RigFacts
    cards: Mapping[str, tuple[str, ...]]
    uuids: Mapping[str, str]
    """The UUID of each card by its index, as text."""


Rule: TypeAlias = Callable[[Rig], Iterator[Finding]]


def c1_parallel_sizes(rig: Rig) -> Iterator[Finding]:
    """C1: the number of cards is tensor x pipeline parallel size, and what the template needs."""
    for tenant in rig.tenants:
        count = tenant.card_count
        tensor, pipeline = tenant.tensor, tenant.pipeline
        if count and tensor is not None and pipeline is not None and tensor * pipeline != count:
            yield Finding("C1", tenant.name, ("gpus",), _sizes_text(tensor, pipeline, count), _sizes_hint(count))
        elif tenant.gpus_needed is not None and tenant.gpus_needed != count:
            message = f"the template needs {_cards(tenant.gpus_needed)}, the instance has {count}"
            yield Finding("C1", tenant.name, ("gpus",), message, f"give it {_cards(tenant.gpus_needed)}")


def _sizes_text(tensor: int, pipeline: int, count: int) -> str:
    return (
        f"tensor_parallel_size {tensor} x pipeline_parallel_size {pipeline} = {tensor * pipeline}, "
        f"but the instance has {_cards(count)}"
    )


def _sizes_hint(count: int) -> str:
    return f"set tensor_parallel_size: {count}, or change the number of cards"


def _cards(count: int) -> str:
    return f"{count} card" if count == 1 else f"{count} cards"


def e1_claims(rig: Rig) -> Iterator[Finding]:
    """E1: a card belongs to one running instance, unless all on it share; an engine without a card must be able to do so."""
    holders: dict[str, list[Tenant]] = {}
    for tenant in rig.tenants:
        yield from _e1_by_itself(tenant)
        if not tenant.running:
            continue
        told: set[str] = {tenant.name}
        for position, key in enumerate(_claimed(rig, tenant)):
            before = holders.setdefault(key, [])
            others = [o for o in before if (tenant.exclusive or o.exclusive) and o.name not in told]
            told.update(other.name for other in others)
            if others:
                yield _clash(tenant, others, key, position)
            before.append(tenant)


def _e1_by_itself(tenant: Tenant) -> Iterator[Finding]:
    if not tenant.card_count and not tenant.cpu:
        message = f"engine {tenant.engine} needs at least one card"
        yield Finding("E1", tenant.name, ("gpus",), message, "write gpus: [0], or use an engine whose profile says cpu: true")
    wanted = () if isinstance(tenant.wanted, GpuCount) else tenant.wanted
    for position, token in enumerate(wanted):
        if token in wanted[:position]:
            yield listed_twice(tenant.name, position, token)


def _claimed(rig: Rig, tenant: Tenant) -> tuple[str, ...]:
    """The cards of an instance by UUID; by what its author wrote where the rig does not know them."""
    if (given := rig.cards.get(tenant.name)) is not None:
        return given
    if isinstance(tenant.wanted, GpuCount):
        return ()
    return tuple(rig.uuids.get(str(token), f"{token}") for token in tenant.wanted)


def _clash(tenant: Tenant, others: Sequence[Tenant], key: str, position: int) -> Finding:
    wanted = () if isinstance(tenant.wanted, GpuCount) else tenant.wanted
    listed = position < len(wanted)
    names = ", ".join(other.name for other in others[:_NAMED])
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return Finding(
        "E1",
        tenant.name,
        ("gpus", position) if listed else ("gpus",),
        f"card {wanted[position] if listed else key} is claimed by {names}{more} too",
        "give one of them another card, set state: stopped on one, or share: true on all of them",
        other=others[0].name,
    )


def e3_nvlink(rig: Rig) -> Iterator[Finding]:
    """E3: an instance that needs NVLink stands on whole declared pairs (where the rig has any)."""
    if isinstance(rig.facts.cards, Unknown) or not rig.facts.nvlink:
        return
    index = {card.uuid: card.index for card in rig.facts.cards.value}
    for tenant in rig.tenants:
        given = [index.get(uuid, -1) for uuid in rig.cards.get(tenant.name, ())]
        if tenant.needs_nvlink and given and not _whole_pairs(given, rig.facts.nvlink):
            pairs = ", ".join(f"{one}+{two}" for one, two in rig.facts.nvlink)
            message = f"the template needs NVLink, but cards {', '.join(map(str, given))} are no NVLink pair"
            yield Finding("E3", tenant.name, ("gpus",), message, f"the pairs of this rig: {pairs}")


def _whole_pairs(indices: Sequence[int], links: Sequence[tuple[int, int]]) -> bool:
    left = set(indices)
    for one, two in sorted(tuple(sorted(pair)) for pair in links):
        if {one, two} <= left:
            left -= {one, two}
    return not left


def e4_ports(rig: Rig) -> Iterator[Finding]:
    """E4: a port belongs to one instance; a stopped one keeps its port."""
    owners: dict[int, str] = {}
    for tenant in rig.tenants:
        owner = owners.setdefault(tenant.port, tenant.name)
        if owner != tenant.name:
            message = f"port {tenant.port} is taken by {owner}"
            yield Finding("E4", tenant.name, ("port",), message, "give each instance a port of its own", other=owner)


def cards_readable(rig: Rig) -> Iterator[Finding]:
    """Where the cards could not be read, say so once for each instance that wants some; never an error."""
    if isinstance(rig.facts.cards, Unknown):
        for tenant in rig.tenants:
            if tenant.card_count:
                message = f"{CARDS_NOT_READABLE}, so only what the files say was checked: {rig.facts.cards.reason}"
                yield Finding("E1", tenant.name, ("gpus",), message, severity=Severity.INFO)


RULES: Final[tuple[Rule, ...]] = (c1_parallel_sizes, e1_claims, e3_nvlink, e4_ports, cards_readable)


def check_rules(tenants: Sequence[Tenant], facts: RigFacts, cards: Mapping[str, tuple[str, ...]]) -> tuple[Finding, ...]:
    """What every rule has to say about the rig."""
    table = () if isinstance(facts.cards, Unknown) else facts.cards.value
    rig = Rig(tenants, facts, cards, {str(card.index): card.uuid for card in table})
    return tuple(finding for rule in RULES for finding in rule(rig))


__all__ = ["KNOWN_RULES", "NEVER_WAIVED", "RULES", "Finding", "Rig", "check_rules"]
