"""NVLink as pairs of cards: how many of a set can be told off in whole pairs, each card in one pair at most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

Link: TypeAlias = tuple[int, int]

_EXACT: Final = 16
"""Cards in a set up to which the most pairs are searched for; in a larger one each card takes its first free partner."""


def paired(indices: Iterable[int], links: Iterable[Link]) -> int:
    """The most cards of this set that stand in whole pairs of linked cards, each in one pair only."""
    cards = tuple(sorted(set(indices)))
    partners: dict[int, set[int]] = {card: set() for card in cards}
    for one, two in links:
        if one in partners and two in partners and one != two:
            partners[one].add(two)
            partners[two].add(one)
    linked = tuple(card for card in cards if partners[card])
    return _most(linked, partners, {}) if len(linked) <= _EXACT else _first_come(linked, partners)


def in_whole_pairs(indices: Iterable[int], links: Iterable[Link]) -> bool:
    """Whether every card of this set has a partner of its own in it."""
    cards = frozenset(indices)
    return paired(cards, links) == len(cards)


def _most(left: tuple[int, ...], partners: dict[int, set[int]], known: dict[tuple[int, ...], int]) -> int:
    ceiling = len(left) // 2 * 2
    if left not in known:
        found = 0
        for other in left[1:]:
            if found < ceiling and other in partners[left[0]]:
                rest = tuple(card for card in left[1:] if card != other)
                found = max(found, 2 + _most(rest, partners, known))
        known[left] = found if found == ceiling else max(found, _most(left[1:], partners, known))
    return known[left]


def _first_come(left: tuple[int, ...], partners: dict[int, set[int]]) -> int:
    taken: set[int] = set()
    for card in left:
        free = [other for other in left if other in partners[card] and other not in taken]
        if card not in taken and free:
            taken |= {card, free[0]}
    return len(taken)
