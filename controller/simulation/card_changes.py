"""The time line of the cards: what befalls them and when, as data, and how they stand at one moment of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Foreign:
    """What a process that is nobody's engine holds of a card; 0 MiB: it has ended."""

    mib: int
    process: str = "foreign"


@dataclass(frozen=True, slots=True)
class CardChange:
    """From `at_s` seconds after the world's beginning on, these facts are different; None leaves one as it was."""

    at_s: float
    """When."""
    card: int | None = None
    """The card that it befalls, counted from 0 in the order of the file, whatever the driver's order is by then."""
    lost: bool | None = None
    """`true`: the card answers nothing any more; `false`: it is back, as after a reset."""
    xid: int | None = None
    """The driver reports this Xid code."""
    power_limit_w: float | None = None
    """Its power limit in watts; at first it is the most that its type is rated for."""
    foreign: Foreign | None = None
    """`{mib, process}`: a process of this name that is no engine holds so much of the card; `mib: 0` ends it."""
    order: tuple[int, ...] | None = None
    """All cards, in the order in which the driver lists them from now on, such as `[1, 0]`."""
    unreadable: str | None = None
    """Why the driver cannot be asked; an empty text: it can be asked again."""


@dataclass(frozen=True, slots=True)
class CardState:
    """One card as the time line has it; `foreign` holds MiB by process name, a limit of None is the card's own."""

    lost: bool = False
    xid: int | None = None
    power_limit_w: float | None = None
    foreign: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CardsState:
    """All cards as the time line has them: `order` holds the file's places in the driver's order."""

    cards: tuple[CardState, ...]
    order: tuple[int, ...]
    unreadable: str = ""


def state_at(changes: Iterable[CardChange], age_s: float, count: int) -> CardsState:
    """How these cards stand when every change up to this age has come."""
    state = CardsState((CardState(),) * count, tuple(range(count)))
    for change in sorted(changes, key=lambda change: change.at_s):
        if change.at_s <= age_s:
            state = _after(state, change)
    return state


def _after(state: CardsState, change: CardChange) -> CardsState:
    """An order that is not one of these cards is that of another rig, such as the file's after it was edited."""
    cards = tuple(_changed(card, change) if place == change.card else card for place, card in enumerate(state.cards))
    fits = change.order is not None and sorted(change.order) == list(range(len(cards)))
    return CardsState(
        cards,
        change.order if change.order is not None and fits else state.order,
        state.unreadable if change.unreadable is None else change.unreadable,
    )


def _changed(card: CardState, change: CardChange) -> CardState:
    foreign = dict(card.foreign)
    if change.foreign is not None:
        foreign[change.foreign.process] = change.foreign.mib
    return replace(
        card,
        lost=card.lost if change.lost is None else change.lost,
        xid=card.xid if change.xid is None else change.xid,
        power_limit_w=card.power_limit_w if change.power_limit_w is None else change.power_limit_w,
        foreign={name: mib for name, mib in foreign.items() if mib},
    )
