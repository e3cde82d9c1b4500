"""Profiles out of the catalogue: each read once, and only when something names it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from controller.model.checking import check
from controller.model.document import Document
from controller.model.problem import DocPath, Place, Problem
from controller.resolve.nearest import nearest

if TYPE_CHECKING:
    from controller.ports import Catalogue

M = TypeVar("M", bound=BaseModel)
Key: TypeAlias = tuple[str, str]
"""Kind and id of a document."""


@dataclass(frozen=True, slots=True)
class Filed(Generic[M]):
    """A profile and the document that it stands in."""

    profile: M
    document: Document

    def place(self, *path: str | int) -> Place:
        """Where a value of the profile stands."""
        return self.document.place(path)


@dataclass(slots=True)
class Profiles:
    """What one resolution has read. `problems` are those of each document that is wrong."""

    catalogue: Catalogue
    problems: dict[Key, tuple[Problem, ...]] = field(default_factory=dict)
    _known: dict[Key, Filed[Any] | None] = field(default_factory=dict)

    def get(self, kind: str, identifier: str, model: type[M]) -> Filed[M] | None:
        """The profile; None when there is none, or when it is wrong, which `problems` then tells."""
        key = (kind, identifier)
        if key not in self._known:
            self._known[key] = self._read(key, model)
        return self._known[key]

    def all(self, kind: str, model: type[M]) -> Iterator[Filed[M]]:
        """Every profile of a kind that is right, by id."""
        for identifier in self.catalogue.ids(kind):
            if (found := self.get(kind, identifier, model)) is not None:
                yield found

    def _read(self, key: Key, model: type[M]) -> Filed[M] | None:
        found = self.catalogue.find(*key)
        if found is None:
            return None
        made, problems = check(model, found) if isinstance(found, Document) else (None, found)
        if problems:
            self.problems[key] = problems
        return Filed(made, found) if made is not None and isinstance(found, Document) else None


@dataclass(slots=True)
class Namer:
    """Looks up what one document names; `needs` collects the documents, so that their problems find their users."""

    profiles: Profiles
    document: Document
    report: list[Problem]
    rule: str
    needs: list[Key] = field(default_factory=list)

    def named(self, path: DocPath, kind: str, identifier: str, model: type[M], what: str) -> Filed[M] | None:
        """The profile that stands at `path`; one that nobody has is a problem there, one that is wrong a problem of its own."""
        key = (kind, identifier)
        found = self.profiles.get(kind, identifier, model)
        if found is None and key not in self.profiles.problems:
            hint = nearest(identifier, self.profiles.catalogue.ids(kind), "the catalogue has")
            self.report.append(self.document.problem(path, self.rule, f"there is no {what} {identifier}", hint))
        else:
            self.needs.append(key)
        return found
