"""The arguments of an engine, read back: each flag with its values, and what parameters they are of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from controller.model.document import Plain
from controller.model.parameters import PARAMETERS, Kind
from controller.model.problem import Place

Locate: TypeAlias = Callable[[str], str | None]
"""The path below the models folder of a path in the container; None for one that does not lead there."""
_FLAG: Final = re.compile(r"-+[A-Za-z]")
_SHORT: Final = re.compile(r"(\d+(?:\.\d+)?)([kKmMgG])")
_FACTORS: Final = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, slots=True)
class Word:
    """One argument and where it stands."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Group:
    """A flag, empty for what stands before the first one, with its values. `words` are those that were written."""

    flag: str
    values: tuple[str, ...]
    words: tuple[Word, ...]

    @property
    def value(self) -> str | None:
        """The only value; None where there is none or more than one."""
        return self.values[0] if len(self.values) == 1 else None


@dataclass(slots=True)
class Understood:
    """What was read: values of parameters as files write them, each with its place; and the words that no parameter stands for.

    `host` and `port` are where it listens inside the container, `model` is the text by which it was told its model.
    """

    parameters: dict[str, Plain] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    served_names: tuple[str, ...] = ()
    port: int | None = None
    host: str | None = None
    model: str | None = None
    api_key: Place | None = None
    rest: list[Group] = field(default_factory=list)

    def take(self, name: str, value: Plain, group: Group) -> None:
        """Keep the value of a parameter."""
        self.parameters[name] = value
        self.places[name] = group.words[0].place

    def give_back(self, name: str, group: Group) -> None:
        """A value that does not fit after all stays a flag."""
        self.parameters.pop(name, None)
        self.rest.append(group)


@dataclass(frozen=True, slots=True)
class Flags:
    """The table of one engine type. `values` take one value each, `switches` none; `own` Steward sets itself."""

    values: Mapping[str, str]
    switches: Mapping[str, tuple[str, bool | str]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()

    def read(self, group: Group, found: Understood, locate: Locate) -> bool:
        """Take in a flag of the table; False for any other one, and for one whose value cannot be the parameter's."""
        if group.flag in self.switches and not group.values:
            found.take(*self.switches[group.flag], group)
            return True
        if group.flag == "--port" and group.value is not None and group.value.isdigit():
            found.port = int(group.value)
            return True
        if group.flag == "--api-key" and group.values:
            found.api_key = group.words[0].place
            return True
        if group.flag == "--host":
            found.host = group.value
        if group.flag in self.own:
            return True
        written = self.values.get(group.flag)
        value = converted(written, group.value, locate) if written and group.value is not None else None
        if written is None or value is None:
            return False
        found.take(written, value, group)
        return True


def groups(words: Iterable[Word], table: Flags, *, dashes: bool) -> list[Group]:
    """The words by their flags; what follows a switch stands alone. `dashes`: in names of flags `_` counts as `-`."""
    alone = table.switches.keys() - table.values.keys()
    found: list[Group] = []
    for word in words:
        if _FLAG.match(word.text):
            name, equals, value = word.text.partition("=")
            plain = name.replace("_", "-") if dashes and name.startswith("--") else name
            found.append(Group(plain, (value,) if equals else (), (word,)))
        elif found and found[-1].flag not in alone:
            last = found.pop()
            found.append(Group(last.flag, (*last.values, word.text), (*last.words, word)))
        else:
            found.append(Group("", (word.text,), (word,)))
    return found


def converted(name: str, text: str, locate: Locate) -> Plain:
    """A flag's value as the parameter's; None where it cannot be one."""
    kind = PARAMETERS[name].kind
    if kind is Kind.MODEL_PATH:
        return locate(text)
    if kind is Kind.PATH:
        return locate(text) or (text if text.startswith("/") else None)
    if kind is Kind.INTEGER:
        return whole(text)
    if kind is Kind.NUMBER:
        return number(text)
    if kind is Kind.SHARES:
        shares = [number(part) for part in re.split(r"[,/]", text)]
        return None if None in shares else [share for share in shares if share is not None]
    return text


def whole(text: str) -> int | None:
    """A whole number, also as `32k` (thousands) and `32K` (of 1024)."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    match = _SHORT.fullmatch(text)
    return int(float(match[1]) * _FACTORS[match[2]]) if match else None


def number(text: str) -> float | int | None:
    """A number as it is written."""
    if re.fullmatch(r"\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"\d*\.\d+|\d+\.", text) else None


def flags_of(*tables: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Tables of `(parameter, flag)`, the other way round."""
    return {flag: name for table in tables for name, flag in table}


def reversed_names(names: Mapping[str, str]) -> dict[str, str]:
    """An engine's words for ours, the other way round; of several the one that stands first."""
    found: dict[str, str] = {}
    for ours, theirs in names.items():
        found.setdefault(theirs, ours)
    return found
