"""What a parameter is: the one name that Steward has for a setting which each engine calls its own way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from controller.model.fields import SecretRef
from controller.model.profile import DialectName

Value: TypeAlias = str | int | float | bool | tuple[str, ...] | SecretRef
"""A checked parameter value; numbers inside a list are texts, the way an argv has them."""


class Kind(StrEnum):
    """The form of a value."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "text"
    NAME = "name"
    CHOICE = "choice"
    MODEL_PATH = "path below models"
    PATH = "path"
    FILE_NAME = "file name"
    URL_PATH = "path of a URL"
    SHARES = "list of numbers"
    TEXTS = "list of texts"
    SECRET = "secret"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of the table: bounds are inclusive and in `unit`; `dialects` are the engine types that have it."""

    name: str
    kind: Kind
    about: str
    dialects: frozenset[DialectName]
    unit: str = ""
    low: int | float | None = None
    high: int | float | None = None
    choices: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """What engines, their users and older files call it; only ever used to suggest this name."""

    @property
    def expected(self) -> str:
        """The values that it takes, as a phrase that follows `expected`."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.low is None or self.high is None:
            return _PHRASES[self.kind]
        return f"{_PHRASES[self.kind]} from {self.low} to {self.high}" + (f" {self.unit}" if self.unit else "")


_PHRASES = {
    Kind.INTEGER: "a whole number",
    Kind.NUMBER: "a number",
    Kind.BOOLEAN: "true or false",
    Kind.TEXT: "a text of one line",
    Kind.NAME: "a name of letters, digits and _ . + : / -",
    Kind.CHOICE: "one of its choices",
    Kind.MODEL_PATH: "a path below the models folder",
    Kind.PATH: "a path below the models folder, or an absolute one inside the container",
    Kind.FILE_NAME: "a file name without a folder",
    Kind.URL_PATH: "a path that begins with /",
    Kind.SHARES: "a list of numbers that are not negative",
    Kind.TEXTS: "a list of texts",
    Kind.SECRET: "{secret: NAME}",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """A value that its parameter accepts, in the form in which an argv is built from it."""

    value: Value


@dataclass(frozen=True, slots=True)
class Rejected:
    """A value that its parameter does not accept; a secret's text is never in it."""

    expected: str
    found: str
    hint: str = ""

    @property
    def message(self) -> str:
        """One sentence without the hint, which a Problem carries on its own."""
        return f"expected {self.expected}, found {self.found}"
