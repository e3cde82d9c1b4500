"""The catalogue as one resolution sees it: templates and profiles, read once each, however many instances use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from controller.model.problem import Problem, Severity
from controller.resolve.inheritance import is_base
from controller.resolve.profiles import Profiles
from controller.resolve.template import Read, Template, read_template

if TYPE_CHECKING:
    from controller.ports import Catalogue

_USERS_NAMED: Final = 5
_NAMED_BY_NOTHING: Final = frozenset({"profiles/hardware", "profiles/limits"})
"""Kinds of profiles that are found by what they say."""


@dataclass(slots=True)
class Library:
    """What is wrong with a document is told once, with the instances that stand on it."""

    catalogue: Catalogue
    profiles: Profiles = field(init=False)
    _read: dict[str, Read] = field(default_factory=dict)
    _users: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """No profile has been read yet."""
        self.profiles = Profiles(self.catalogue)

    def knows(self, identifier: str) -> bool:
        """Whether the catalogue has a template of this id."""
        if is_base(identifier):
            return False
        return identifier in self._read or self.catalogue.find("composes", identifier) is not None

    def template(self, identifier: str, user: str) -> Template | None:
        """The template, for one of its users; None when it or a profile of it is wrong, which `problems` tells."""
        self._users.setdefault(identifier, []).append(user)
        if identifier not in self._read:
            self._read[identifier] = read_template(identifier, self.profiles)
        return self._read[identifier].template

    def problems(self) -> Iterator[Problem]:
        """What is wrong with the templates that are used, and with profiles.

        One that nothing names, of a card or a limit, counts as not there and keeps no revision from being accepted.
        """
        for identifier, read in self._read.items():
            yield from _told(read.problems, self._users[identifier])
        for key, problems in self.profiles.problems.items():
            users = [user for name, read in self._read.items() if key in read.needs for user in self._users[name]]
            yield from _told(_as_warnings(problems) if key[0] in _NAMED_BY_NOTHING else problems, users)


def _told(problems: tuple[Problem, ...], users: list[str]) -> Iterator[Problem]:
    for problem in problems:
        yield replace(problem, hint=_with_users(problem.hint, users)) if users else problem


def _as_warnings(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(replace(p, severity=Severity.WARNING) if p.severity is Severity.ERROR else p for p in problems)


def _with_users(hint: str, users: list[str]) -> str:
    named = ", ".join(users[:_USERS_NAMED]) + (f" and {len(users) - _USERS_NAMED} more" if len(users) > _USERS_NAMED else "")
    return f"{hint} (used by {named})" if hint else f"used by {named}"
