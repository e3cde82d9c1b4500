"""What is said of a placement: why an instance has its cards, and what it asks for where it has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.model.rig import Card
from controller.solver.links import in_whole_pairs
from controller.solver.placement_cards import Spot, allows
from controller.solver.placement_choices import Choice, Cost, Table, cost_of, count_of
from controller.solver.tenant import Finding, Tenant

_WHY: Final = {
    "unmet": "side by side",
    "uneven": "equal memory for tensor parallelism",
    "doubtful": "surely enough for it",
    "capabilities": "of one compute capability",
    "kinds": "of one type",
    "memory": "the least memory that is enough",
    "broken": "no NVLink pair is broken up",
    "spoken_for": "not those of a stopped instance",
}
"""What a figure of `Cost` says for the choice that has less of it than another."""


def card_list(indices: Sequence[int]) -> str:
    """`card 2`, `cards 2, 3`."""
    return f"{'card' if len(indices) == 1 else 'cards'} {', '.join(map(str, indices))}"


def rig_text(table: Sequence[Card]) -> str:
    """The cards of a rig in a few words, for hints."""
    if not table:
        return "no card"
    indices = [card.index for card in table]
    if len(indices) > 1 and indices == list(range(indices[0], indices[-1] + 1)):
        return f"cards {indices[0]} to {indices[-1]}"
    return card_list(indices)


def kept_text(uuids: Sequence[str], table: Sequence[Card]) -> str:
    """Why an instance has cards that it had before."""
    index = {card.uuid: card.index for card in table}
    shown = card_list([index[uuid] for uuid in uuids]) if all(uuid in index for uuid in uuids) else ", ".join(uuids)
    return f"{shown}: kept from before, as long as the text of its gpus stays"


def first_text(spots: Sequence[Spot]) -> str:
    """Why an instance has its cards on a rig that is too large to search."""
    return f"{card_list([spot.index for spot in spots])}: the first that fit"


def reason_text(tenant: Tenant, choice: Choice, table: Table, sharers: Sequence[str]) -> str:
    """Why an instance has these cards: what else it could have beside all others, and by what this choice is better."""
    indices = [table.spots[place].index for place in choice.cards]
    others = table.choices(tenant)
    linked = _link_clause(tenant, choice, table, others)
    clauses = [linked] if linked else []
    if sharers:
        clauses.append(f"shared with {', '.join(sharers)}")
    clauses += _better(tenant, choice, table, others, told=bool(linked))
    if not clauses:
        clauses.append(_plain(len(others) == 1, len(indices)))
    return f"{card_list(indices)}: {', '.join(clauses)}"


def _plain(only: bool, count: int) -> str:
    if only:
        return "the only free card that fits" if count == 1 else "the only free cards that fit"
    return "the first free card that fits" if count == 1 else "the first free cards that fit"


def _link_clause(tenant: Tenant, choice: Choice, table: Table, others: Sequence[Choice]) -> str:
    """What is to be said of NVLink, for an instance that has a wish there."""
    wanted = count_of(tenant)
    if not (wanted.nvlink or tenant.needs_nvlink) or wanted.count == 1:
        return ""
    pairs = [other for other in others if in_whole_pairs((table.spots[place].index for place in other.cards), table.links)]
    if choice.cards not in [pair.cards for pair in pairs]:
        return "no NVLink pair is free" if not pairs else ""
    noun = "NVLink pair" if wanted.count == 2 else "NVLink pairs"
    return f"the only free {noun}" if len(pairs) == 1 else f"a free {noun}" if wanted.count == 2 else f"free {noun}"


def _better(tenant: Tenant, choice: Choice, table: Table, others: Sequence[Choice], *, told: bool) -> list[str]:
    """Figure by figure, what sets this choice apart from those that are as good up to there."""
    silent = {"unmet", "broken"} if told else set() if tenant.contiguous else {"unmet"}
    own = cost_of(choice, tenant, table)
    rest = [cost_of(other, tenant, table) for other in others if other.cards != choice.cards]
    found = []
    for name, value in zip(Cost._fields, own, strict=True):
        if name in _WHY and name not in silent and any(getattr(other, name) > value for other in rest):
            found.append(_WHY[name])
        rest = [other for other in rest if getattr(other, name) == value]
    return found


def wish_text(tenant: Tenant) -> str:
    """What an instance asks for: `2 free cards of one type in NVLink pairs with 24 GiB or more`."""
    wanted = count_of(tenant)
    text = "free card" if wanted.count == 1 else f"{wanted.count} free cards"
    text += " of one type" if wanted.same and wanted.count > 1 else ""
    text += " in NVLink pairs" if wanted.nvlink == "require" else ""
    if tenant.min_vram_bytes is not None:
        text += f" with {tenant.min_vram_bytes / 2**30:g} GiB or more"
    if tenant.min_compute_capability is not None:
        text += f" of compute capability {tenant.min_compute_capability:g} or higher"
    return text


def enough_text(tenant: Tenant, table: Table) -> str:
    """Which cards of the rig are enough for an instance by themselves, where not all of them are."""
    enough = [spot.index for spot in table.spots if allows(spot, tenant)]
    if len(enough) == len(table.spots):
        return ""
    if not enough:
        return ", which is not enough" if len(table.spots) == 1 else ", none of which is enough"
    return f", of which {card_list(enough)} {'is' if len(enough) == 1 else 'are'} enough"


def outside(tenant: Tenant, position: int, token: int | str, table: Sequence[Card]) -> Finding:
    """A listed card that the rig does not have."""
    message, hint = f"the rig has no card {token}", f"the rig has {rig_text(table)}"
    return Finding("E1", tenant.name, ("gpus", position), message, hint)
