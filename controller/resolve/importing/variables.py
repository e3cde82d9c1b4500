"""Environment files (`NAME=value`), and the `${NAME}` of Compose files that are filled in with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from controller.model.document import Document, Plain
from controller.model.problem import DocPath, Place
from controller.resolve.importing.drafting import Ledger

_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED: Final = re.compile(r"""(["'])(.*)\1\s*(?:#.*)?""")
_INNERMOST: Final = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-?+])([^${}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))")
_DEPTH: Final = 8
_DOLLAR: Final = "\0"
"""Stands for `$$` while variables are filled in."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable and where it stands."""

    name: str
    value: str
    place: Place


def read_variables(file: str, text: str, ledger: Ledger) -> dict[str, Variable]:
    """The variables of an environment file; of one that is there twice the last."""
    found: dict[str, Variable] = {}
    for number, line in enumerate(text.splitlines(), 1):
        place = Place(file, number, 1)
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            ledger.lost(place, "this line is no NAME=value")
            continue
        quoted = _QUOTED.fullmatch(match[2])
        value = quoted[2] if quoted else re.split(r"\s#", match[2])[0].strip()
        found[match[1]] = Variable(match[1], value, place)
    return found


@dataclass(slots=True)
class Interpolation:
    """Fills in variables the way Compose does; `used` are those that were asked for."""

    variables: Mapping[str, Variable]
    ledger: Ledger
    used: set[str] = field(default_factory=set)

    def filled(self, document: Document, path: DocPath, value: Plain) -> Plain:
        """A value with every text in it filled in."""
        if isinstance(value, str):
            return self.text(value, document.place(path))
        if isinstance(value, list):
            return [self.filled(document, (*path, position), item) for position, item in enumerate(value)]
        if isinstance(value, dict):
            return {key: self.filled(document, (*path, key), item) for key, item in value.items()}
        return value

    def text(self, text: str, place: Place) -> str:
        """One text; a variable without a value is empty, which the ledger tells."""
        if "$" not in text:
            return text
        found = text.replace("$$", _DOLLAR)
        for _ in range(_DEPTH):
            after = _INNERMOST.sub(lambda match: self._value(match, place), found)
            if after == found:
                break
            found = after
        return found.replace(_DOLLAR, "$")

    def _value(self, match: re.Match[str], place: Place) -> str:
        name, how, other = match[1] or match[4], match[2] or "", match[3] or ""
        self.used.add(name)
        variable = self.variables.get(name)
        value = variable.value if variable else None
        if value is not None and not value and how.startswith(":"):
            value = None
        if how.endswith("+"):
            return other if value is not None else ""
        if value is None and how.endswith("-"):
            return other
        if value is None:
            self.ledger.lost(place, f"{name} has no value here", "give the file that sets it with --env-file")
        return (value or "").replace("$", _DOLLAR)
