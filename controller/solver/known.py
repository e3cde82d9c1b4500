"""What can be said of cards, images and counts, in the words of the rules' messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from controller.model.problem import Severity
from controller.model.reading import Known, Unknown
from controller.solver.candidate import Candidate, TypedCard

GIB: Final = 2**30
OFFLOAD: Final = "--cpu-offload-gb"
"""The flag by which vLLM leaves weights in the host's memory, in GiB for each card."""
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def capability(typed: TypedCard) -> float | None:
    """The compute capability as the driver tells it, else as the card's profile has it."""
    reading = typed.card.compute_capability
    if isinstance(reading, Known):
        return reading.value
    return None if typed.profile is None else float(typed.profile.compute_capability)


def total_bytes(typed: TypedCard) -> int | None:
    """The total that the driver reports."""
    total = typed.card.memory_total
    return total.value if isinstance(total, Known) else None


def card_text(typed: TypedCard) -> str:
    """`card 0 (NVIDIA GeForce RTX 3090)`."""
    return f"card {typed.card.index} ({typed.card.name})"


def cards_text(cards: Sequence[TypedCard]) -> str:
    """`cards 0 and 1 (NVIDIA GeForce RTX 3090)`, with every name that there is."""
    indices = [str(typed.card.index) for typed in cards]
    names = list(dict.fromkeys(typed.card.name for typed in cards))
    return f"{'card' if len(indices) == 1 else 'cards'} {listed(indices)} ({', '.join(names)})"


def cards_of(me: Candidate) -> tuple[TypedCard, ...]:
    """The cards of an instance, none where they are not known: `no_cards` then says why."""
    return () if isinstance(me.cards, Unknown) else me.cards.value


def no_cards(me: Candidate) -> str | None:
    """Why there is no card to look at, None where there is one."""
    if isinstance(me.cards, Unknown):
        return me.cards.reason
    return None if me.cards.value else "the instance has no card"


def verb(cards: Sequence[TypedCard], one: str, several: str) -> str:
    """The verb that goes with so many cards."""
    return one if len(cards) == 1 else several


def counted(count: int, noun: str) -> str:
    """`1 card`, `2 cards`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(words: Iterable[object]) -> str:
    """`a, b and c`."""
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else "none"


def gib(size: float) -> str:
    """Bytes as GiB with up to two decimals, as drivers' totals are quoted."""
    return f"{size / GIB:.2f}".rstrip("0").rstrip(".") + " GiB"


def number_of(text: str) -> float | None:
    """The number that a flag's value is, None for anything else."""
    return float(text) if _NUMBER.fullmatch(text) else None


def own_image(me: Candidate) -> bool:
    """Whether the instance runs another image than the one that its engine profile describes."""
    return bool(me.image) and me.engine.image is not None and me.image != me.engine.image


def by_profile(me: Candidate) -> Severity:
    """How grave it is that the engine profile lacks something: about another image the profile can only guess."""
    return Severity.WARNING if own_image(me) else Severity.ERROR


def about_image(me: Candidate) -> str:
    """What to add to a message that rests on the profile of another image."""
    return f"; that is known of {me.engine.image}, and this instance runs {me.image}" if own_image(me) else ""


def version_of(me: Candidate) -> tuple[int, int, int] | None:
    """The engine's version: by the image's tag, else by the profile of that image; None where neither says it."""
    tag = me.image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    found = _VERSION.match(tag) or (None if own_image(me) or not me.engine.version else _VERSION.match(me.engine.version))
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))
