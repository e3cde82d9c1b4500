"""Which hardware profile describes each card: the one that the rig's facts name, else the one that fits the driver's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from controller.model.problem import Problem, Severity
from controller.model.profile import HardwareProfile
from controller.model.reading import Known, Unknown
from controller.model.rig import Card, RigFacts
from controller.resolve.profiles import Profiles

RULE: Final = "card"
KIND: Final = "profiles/hardware"


def card_types(facts: RigFacts, profiles: Profiles) -> Mapping[str, HardwareProfile]:
    """The profile of each card by its UUID; a card that none describes is absent. Only a card to be matched reads them all."""
    if isinstance(facts.cards, Unknown):
        return {}
    found: dict[str, HardwareProfile] = {}
    known: tuple[HardwareProfile, ...] | None = None
    for card in facts.cards.value:
        if card.profile is not None:
            named = profiles.get(KIND, card.profile, HardwareProfile)
            profile = named.profile if named else None
        else:
            known = _all(profiles) if known is None else known
            profile = _match(card, known)
        if profile is not None:
            found[card.uuid] = profile
    return found


def _all(profiles: Profiles) -> tuple[HardwareProfile, ...]:
    return tuple(filed.profile for filed in profiles.all(KIND, HardwareProfile))


def _match(card: Card, known: Sequence[HardwareProfile]) -> HardwareProfile | None:
    """The profile that fits name and memory; of several the one whose memory is nearest."""
    if isinstance(card.memory_total, Unknown):
        return None
    total = card.memory_total.value
    fitting = [profile for profile in known if profile.describes(card.name, total)]
    return min(fitting, key=lambda profile: (abs(profile.usable_bytes - total), profile.id), default=None)


def unknown_cards(facts: RigFacts, types: Mapping[str, HardwareProfile], in_use: Iterable[str]) -> list[Problem]:
    """A note for each card that an instance has and no profile describes."""
    used = set(in_use)
    cards = facts.cards.value if isinstance(facts.cards, Known) else ()
    hint = "add profiles/hardware/ID.yml beside the estate to have it judged like other cards"
    return [
        Problem(Severity.INFO, RULE, f"card {card.index}: {_what(card)}; known: what the driver says", hint)
        for card in cards
        if card.uuid in used and card.uuid not in types
    ]


def _what(card: Card) -> str:
    if isinstance(card.memory_total, Unknown):
        return f'no profile describes "{card.name}", whose memory is not readable'
    return f'no profile describes "{card.name}" with {card.memory_total.value / 2**30:.2f} GiB'
