"""The `simulation:` block of a rig file: what the engines of `--rig sim:FILE` do, and what befalls its cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, get_type_hints

from pydantic import Field, create_model

from controller.model.checking import check
from controller.model.document import Document
from controller.model.fields import NAME_PATTERN, AsTuple
from controller.model.fields import Document as Fields
from controller.model.problem import DocPath, Problem, in_report_order
from controller.model.wording import one_of, shortened
from controller.simulation.card_changes import CardChange, Foreign
from controller.simulation.engine.script import Change, Line, Script
from controller.simulation.mirror import Mirror, key_of, listed, mirror, named

RULE: Final = "simulation"
BLOCK: Final = "simulation"
EVERY_OTHER: Final = "*"
"""The name under which the script of all instances stands; what an instance says for itself is laid over it."""

_OF_ONE_CARD: Final = ("lost", "xid", "power_limit_w", "foreign")
_OF_THE_DRIVER: Final = ("order", "unreadable")


@dataclass(frozen=True, slots=True)
class Simulation:
    """Scripts by instance, the script of every other one, and the time line of the cards."""

    engines: Mapping[str, Script] = field(default_factory=dict)
    default: Script = Script()
    cards: tuple[CardChange, ...] = ()

    def of(self, instance: str) -> Script:
        """What the engines of this instance do."""
        return self.engines.get(instance, self.default)


def _change(values: dict[str, Any]) -> Change:
    return Change(values.pop("at_s"), values)


_LINE: Final = mirror("Line", get_type_hints(Line), lambda values: Line(**values), needs=("text",))
_SCRIPT_HINTS: Final = get_type_hints(Script)
_CHANGE: Final = mirror(
    "Change",
    {"at_s": float, **{name: hint for name, hint in _SCRIPT_HINTS.items() if name != "changes"}},
    _change,
    needs=("at_s",),
    nested={"log": _LINE},
)
ENGINE: Final[Mirror[Script]] = mirror(
    "Engine", _SCRIPT_HINTS, lambda values: Script(**values), nested={"log": _LINE, "changes": _CHANGE}
)
_FOREIGN: Final = mirror(
    "Foreign",
    get_type_hints(Foreign),
    lambda values: Foreign(**values),
    needs=("mib",),
    own={"process": Annotated[str, Field(min_length=1, max_length=64)]},
)
CARD: Final[Mirror[CardChange]] = mirror(
    "CardChange",
    get_type_hints(CardChange),
    lambda values: CardChange(**values),
    needs=("at_s",),
    nested={"foreign": _FOREIGN},
    own={
        "xid": Annotated[int, Field(ge=1, le=999)] | None,
        "power_limit_w": Annotated[float, Field(ge=1, le=2000)] | None,
        "order": Annotated[tuple[int, ...], AsTuple] | None,
    },
)
_KEYS: Final[dict[str, Any]] = {
    "engines": (named(ENGINE), Field(default_factory=dict)),
    "cards": (listed(CARD), ()),
}
_MODEL: Final[type[Fields]] = create_model("Simulation", __base__=Fields, **_KEYS)


def simulation_of(document: Document) -> Simulation | tuple[Problem, ...]:
    """The block of a whole rig file, empty where the file has none, or every problem of it."""
    data = document.data
    if not isinstance(data, dict) or BLOCK not in data:
        return Simulation()
    checked, problems = check(_MODEL, document, (BLOCK,))
    if checked is None:
        return in_report_order(problems)
    block: Any = checked
    engines: Mapping[str, Any] = block.engines
    cards = tuple(CARD.made(entry) for entry in block.cards)
    gpus = data.get("gpus")
    count = len(gpus) if isinstance(gpus, list) else 0
    found = (*_about_engines(document, engines), *_about_cards(document, cards, count))
    if found:
        return in_report_order(found)
    default = ENGINE.made(engines[EVERY_OTHER]) if EVERY_OTHER in engines else Script()
    own = {name: replace(default, **ENGINE.told(engine)) for name, engine in engines.items() if name != EVERY_OTHER}
    return Simulation(own, default, cards)


def _about_engines(document: Document, engines: Mapping[str, Any]) -> Iterator[Problem]:
    for name, engine in engines.items():
        path = (BLOCK, "engines", name)
        if name != EVERY_OTHER and not re.fullmatch(NAME_PATTERN, name):
            message = f'expected the name of an instance, or "{EVERY_OTHER}" for every other one, found `{shortened(name)}`'
            yield document.problem(path, RULE, message, at_key=True)
        for place, change in enumerate(engine.changes or ()):
            if change.model_fields_set == {key_of("at_s")}:
                hint = "add what is different from then on, such as `hang: true`"
                yield document.problem((*path, "changes", place), RULE, "nothing changes here", hint)


def _about_cards(document: Document, changes: Sequence[CardChange], count: int) -> Iterator[Problem]:
    for place, change in enumerate(changes):
        path: DocPath = (BLOCK, "cards", place)
        yield from _about_subject(document, path, change)
        if change.card is not None and change.card >= count:
            message = f"there is no card {change.card}, the file has {count}"
            yield document.problem((*path, "card"), RULE, message, "count the cards from 0")
        if change.order is not None and sorted(change.order) != list(range(count)):
            message = f"expected every card of the file once, found {list(change.order)}"
            yield document.problem((*path, "order"), RULE, message, f"such as {list(range(count))[::-1]}")


def _about_subject(document: Document, path: DocPath, change: CardChange) -> Iterator[Problem]:
    """Whether it says what changes, and of which card."""
    of_card = [name for name in _OF_ONE_CARD if getattr(change, name) is not None]
    of_driver = [name for name in _OF_THE_DRIVER if getattr(change, name) is not None]
    if not of_card and not of_driver:
        known = one_of([f"`{name}`" for name in (*_OF_ONE_CARD, *_OF_THE_DRIVER)])
        yield document.problem(path, RULE, "nothing changes here", f"add {known}")
    elif of_card and change.card is None:
        yield document.problem(path, RULE, f"`card` is missing: `{of_card[0]}` befalls one card", "add it, counted from 0")
    elif change.card is not None and not of_card:
        hint = f"`{of_driver[0]}` is about all cards: leave `card` out"
        yield document.problem((*path, "card"), RULE, "`card` has no meaning here", hint)
