"""An estate that is being made out of other files, and what of those files it cannot say."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import Final

from controller.model.document import Plain
from controller.model.problem import Place, Problem, Severity
from controller.resolve.estate_text import EntryText

RULE: Final = "import"


@dataclass(frozen=True, slots=True)
class Host:
    """Where a file lies, and whose it is: the folders that relative paths and `~` begin at."""

    folder: str
    home: str

    def absolute(self, path: str) -> str:
        """A path of the file as one of this machine."""
        whole = posixpath.join(self.home, path[1:].lstrip("/")) if path.startswith("~") else posixpath.join(self.folder, path)
        return posixpath.normpath(whole)


@dataclass(slots=True)
class Ledger:
    """What was left behind, and what was carried otherwise than it was written, each at its place."""

    problems: list[Problem] = field(default_factory=list)

    def lost(self, place: Place, message: str, hint: str = "") -> None:
        """Something that the estate does not have."""
        self.problems.append(Problem(Severity.WARNING, RULE, message, hint, place=place))

    def changed(self, place: Place, message: str, hint: str = "") -> None:
        """Something that the estate has in another form."""
        self.problems.append(Problem(Severity.INFO, RULE, message, hint, place=place))


@dataclass(slots=True)
class DraftEntry:
    """One instance; `place` is where it was found."""

    keys: dict[str, Plain]
    place: Place
    comments: dict[str, list[str]] = field(default_factory=dict)

    def explain(self, key: str, text: str) -> None:
        """A comment above a key."""
        self.comments.setdefault(key, []).append(text)

    def set(self, name: str, value: Plain, why: str = "") -> None:
        """Give a parameter a value."""
        self._below("set", name, value, why)

    def env(self, name: str, value: Plain, why: str = "") -> None:
        """Give a variable a value."""
        self._below("env", name, value, why)

    def _below(self, key: str, name: str, value: Plain, why: str) -> None:
        held = self.keys.setdefault(key, {})
        assert isinstance(held, dict), f"{key} is a mapping"
        held[name] = value
        if why:
            self.explain(f"{key}.{name}", why)

    def parameter(self, name: str) -> Plain:
        """The value of a parameter that was given one."""
        held = self.keys.get("set")
        return held.get(name) if isinstance(held, dict) else None

    @property
    def text(self) -> EntryText:
        """As it is written."""
        return EntryText(self.keys, self.comments)


@dataclass(slots=True)
class DraftEstate:
    """All instances, and what they share."""

    entries: list[DraftEntry] = field(default_factory=list)
    paths: dict[str, Plain] = field(default_factory=dict)
    rig: dict[str, Plain] = field(default_factory=dict)
    others: dict[str, Plain] = field(default_factory=dict)
    """Keys of the file that are carried as they are."""
