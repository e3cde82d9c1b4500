"""How fast a template was on certain cards, out of the measurements that the catalogue has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from controller.model.profile_measurement import Measurement, MeasurementsFile
from controller.model.reading import Known
from controller.model.rig import Card, RigFacts
from controller.resolve.profiles import Profiles

KIND: Final = "profiles"
NAME: Final = "measurements"


@dataclass(frozen=True, slots=True)
class Setup:
    """What a measurement has to be of: a template with a KV format on cards, by their profiles, linked or not."""

    template: str
    cards: tuple[str, ...]
    nvlink: bool
    kv_format: str | None


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens a second for one request at a time; `what` is `prose` or `code`, `timing` what was timed."""

    tokens_per_second: float
    what: str
    timing: str
    as_of: str


def measurements(profiles: Profiles) -> tuple[Measurement, ...]:
    """Every measurement of the catalogue."""
    found = profiles.get(KIND, NAME, MeasurementsFile)
    return found.profile.measurements if found else ()


def speed_of(setup: Setup, known: Iterable[Measurement]) -> Speed | None:
    """The newest figure of such a setup, timed from the request where there is one; None where nobody has measured it."""
    fitting = [row for row in known if _is_of(row, setup)]
    newest = max(fitting, key=lambda row: (row.timing == "wall", row.as_of, row.source), default=None)
    return None if newest is None else _speed(newest)


def _speed(row: Measurement) -> Speed:
    """The figure of a measurement: of prose, else of code."""
    what, figure = ("prose", row.prose) if row.prose is not None else ("code", row.code)
    assert figure is not None, "a measurement has a figure"
    return Speed(figure, what, row.timing, row.as_of)


def _is_of(row: Measurement, setup: Setup) -> bool:
    """A measurement with another KV format is of an earlier state of the template."""
    return (
        row.template == setup.template
        and sorted(row.cards) == sorted(setup.cards)
        and row.nvlink == setup.nvlink
        and (row.kv_format is None or setup.kv_format in (None, row.kv_format))
    )


def are_linked(cards: Sequence[Card], facts: RigFacts) -> bool:
    """Whether all of several cards are in NVLink pairs among themselves."""
    held = {card.index for card in cards}
    paired = {end for pair in facts.nvlink if held.issuperset(pair) for end in pair}
    return len(held) > 1 and paired == held


def cards_with(uuids: Sequence[str], facts: RigFacts) -> tuple[Card, ...]:
    """The cards of these UUIDs, in that order."""
    there = {card.uuid: card for card in facts.cards.value} if isinstance(facts.cards, Known) else {}
    return tuple(there[uuid] for uuid in uuids if uuid in there)
