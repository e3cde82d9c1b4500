"""What belongs to one instance alone: its cards (E1) and its port (E4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.model.desired import GpuCount
from controller.model.problem import Severity
from controller.model.reading import Known, Unknown
from controller.model.rig import RigFacts
from controller.solver.candidate import Candidate, RigView, TypedCard
from controller.solver.known import card_text, cards_of, gib, total_bytes
from controller.solver.rule import Rule
from controller.solver.rules_memory import claim, sharing
from controller.solver.tenant import Finding, Tenant, listed_twice

CARDS_NOT_READABLE: Final = "cards not readable"
_NAMED: Final = 5
"""Other claimants of a card that one finding names."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Who claims what: every instance of the estate, the cards as facts, and which cards each instance was given."""

    tenants: Sequence[Tenant]
    facts: RigFacts
    cards: Mapping[str, tuple[str, ...]]
    uuids: Mapping[str, str]
    """The UUID of each card by its index, as text."""


def claims_of(view: RigView) -> Claims:
    """The claims of all instances, candidates or not."""
    tenants = view.tenants or tuple(candidate.tenant for candidate in view.candidates)
    cards = view.facts.cards.value if isinstance(view.facts.cards, Known) else ()
    own = {one.name: tuple(c.card.uuid for c in one.cards.value) for one in view.candidates if isinstance(one.cards, Known)}
    return Claims(tenants, view.facts, {**own, **view.given}, {str(card.index): card.uuid for card in cards})


def e1_cards(view: RigView) -> Iterator[Finding]:
    """E1: a card belongs to one running instance, or to several that share it and fit; nobody claims one that is not there."""
    claims = claims_of(view)
    yield from (finding for finding in view.unplaced if finding.rule == "E1")
    yield from _claimed_once(claims)
    yield from _readable(claims)
    yield from _overfull(view)


def _claimed_once(claims: Claims) -> Iterator[Finding]:
    """A card belongs to one running instance, unless all on it share; an engine without a card must be able to do so."""
    holders: dict[str, list[Tenant]] = {}
    for tenant in claims.tenants:
        yield from _by_itself(tenant)
        if not tenant.running:
            continue
        told: set[str] = {tenant.name}
        for position, key in enumerate(_claimed(claims, tenant)):
            before = holders.setdefault(key, [])
            others = [o for o in before if (tenant.exclusive or o.exclusive) and o.name not in told]
            told.update(other.name for other in others)
            if others:
                yield _clash(tenant, others, key, position)
            before.append(tenant)


def _by_itself(tenant: Tenant) -> Iterator[Finding]:
    if not tenant.card_count and not tenant.cpu:
        message = f"engine {tenant.engine} needs at least one card"
        yield Finding("E1", tenant.name, ("gpus",), message, "write gpus: [0], or use an engine whose profile says cpu: true")
    wanted = () if isinstance(tenant.wanted, GpuCount) else tenant.wanted
    for position, token in enumerate(wanted):
        if token in wanted[:position]:
            yield listed_twice(tenant.name, position, token)


def _claimed(claims: Claims, tenant: Tenant) -> tuple[str, ...]:
    """The cards of an instance by UUID; by what its author wrote where the rig does not know them."""
    if (given := claims.cards.get(tenant.name)) is not None:
        return given
    if isinstance(tenant.wanted, GpuCount):
        return ()
    return tuple(claims.uuids.get(str(token), f"{token}") for token in tenant.wanted)


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


def _readable(claims: Claims) -> Iterator[Finding]:
    """Where the cards could not be read, say so once for each instance that wants some; never an error."""
    if isinstance(claims.facts.cards, Unknown):
        for tenant in claims.tenants:
            if tenant.card_count:
                message = f"{CARDS_NOT_READABLE}, so only what the files say was checked: {claims.facts.cards.reason}"
                yield Finding("E1", tenant.name, ("gpus",), message, severity=Severity.INFO)


def _overfull(view: RigView) -> Iterator[Finding]:
    """Cards on which those that share them claim more than there is, told at the last of them in the file."""
    seen: set[str] = set()
    for candidate in view.candidates:
        for typed in () if candidate.tenant.exclusive else cards_of(candidate):
            if typed.card.uuid not in seen:
                seen.add(typed.card.uuid)
                yield from _sum_of(typed, sharing(view, typed))


def _sum_of(typed: TypedCard, tenants: list[Candidate]) -> Iterator[Finding]:
    total = total_bytes(typed)
    claims = {one.name: size for one in tenants if (size := claim(one, typed)) is not None}
    taken = sum(claims.values()) + typed.card.foreign_bytes
    if total is None or len(claims) < 2 or taken <= total:
        return
    last, first = tenants[-1].name, tenants[0].name
    parts = [f"{name} takes {gib(size)}" for name, size in claims.items()]
    foreign = [f"others hold {gib(typed.card.foreign_bytes)}"] if typed.card.foreign_bytes else []
    message = f"{card_text(typed)} is shared beyond its {gib(total)}: {', '.join(parts + foreign)}"
    hint = "lower gpu_memory_utilization or the template's vram, or give one of them another card"
    yield Finding("E1", last, ("gpus",), message, hint, other=first)


def e4_own_port(view: RigView) -> Iterator[Finding]:
    """E4: a port belongs to one instance; a stopped one keeps its port."""
    owners: dict[int, str] = {}
    for tenant in claims_of(view).tenants:
        owner = owners.setdefault(tenant.port, tenant.name)
        if owner != tenant.name:
            message = f"port {tenant.port} is taken by {owner}"
            yield Finding("E4", tenant.name, ("port",), message, "give each instance a port of its own", other=owner)


RULES: Final = (
    Rule(
        "E1",
        "cards that exist and that nobody else has",
        Severity.ERROR,
        "vLLM takes its share of the whole card, so that a second engine does not start; with `share: true` the sum must fit",
        "another card, `state: stopped` on one of them, or `share: true` on all",
        together=e1_cards,
    ),
    Rule(
        "E4",
        "a port of its own",
        Severity.ERROR,
        "the second container cannot bind it; who else on this machine holds a port is looked at in `plan`",
        "another port",
        together=e4_own_port,
    ),
)
