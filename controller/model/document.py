"""A parsed YAML file together with the position of every key and value in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from controller.model.problem import DocPath, Place, Problem, Severity, dotted

Scalar: TypeAlias = str | int | float | bool | None
Plain: TypeAlias = "Scalar | list[Plain] | dict[str, Plain]"


@dataclass(frozen=True, slots=True)
class Document:
    """`data` as plain values; `places` maps each document path to its value, `keys` to its key.

    `file` is the path as the user would type it; `digest` is the SHA-256 of the bytes that were read. `written` holds the
    source text of values that are not text and would print differently: `1.10` is the number 1.1.
    """

    file: str
    data: Plain
    digest: str
    places: Mapping[DocPath, Place] = field(default_factory=dict, hash=False)
    keys: Mapping[DocPath, Place] = field(default_factory=dict, hash=False)
    written: Mapping[DocPath, str] = field(default_factory=dict, hash=False)

    def place(self, path: DocPath) -> Place:
        """Where the value at `path` stands; for a missing one, where its nearest parent stands."""
        for end in range(len(path), -1, -1):
            if found := self.places.get(path[:end]):
                return found
        return Place(self.file, 1, 1)

    def key_place(self, path: DocPath) -> Place:
        """Where the key at `path` stands, or its value when it has none (a list item)."""
        return self.keys.get(path) or self.place(path)

    def problem(
        self,
        path: DocPath,
        rule: str,
        message: str,
        hint: str = "",
        *,
        severity: Severity = Severity.ERROR,
        at_key: bool = False,
    ) -> Problem:
        """A problem at `path` of this document."""
        place = self.key_place(path) if at_key else self.place(path)
        return Problem(severity, rule, message, hint, dotted(path), place)


def scalar_text(value: Scalar) -> str:
    """A scalar the way YAML prints it: `true`, `null`, `0.7`."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
