"""Templates and engine profiles out of the catalogue, read once each, however many instances use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from controller.dialects.dialect import Dialect
from controller.dialects.registry import DIALECTS, dialect
from controller.model.checking import check
from controller.model.compose import ComposeFile, HttpReadiness, XSteward
from controller.model.document import Document
from controller.model.problem import Place, Problem
from controller.model.profile import DialectName, EngineProfile
from controller.ports import Catalogue
from controller.resolve.declared import Declared, declared_parameters
from controller.resolve.image_reference import is_reference
from controller.resolve.inheritance import RULE, whole_document
from controller.resolve.nearest import nearest
from controller.resolve.service import ServiceParts, read_service

_USERS_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Template:
    """One template, whole and valid, with its engine."""

    identifier: str
    document: Document
    steward: XSteward
    parts: ServiceParts
    profile: EngineProfile
    profile_document: Document
    dialect: Dialect
    parameters: Mapping[str, Declared]

    def place(self, *path: str | int) -> Place:
        """Where a value of the template stands."""
        return self.document.place(path)


@dataclass(slots=True)
class Library:
    """The catalogue as one resolution sees it. What is wrong with a template is told once, with the instances that use it."""

    catalogue: Catalogue
    _templates: dict[str, Template | None] = field(default_factory=dict)
    _profiles: dict[str, tuple[EngineProfile, Document] | None] = field(default_factory=dict)
    _problems: dict[str, list[Problem]] = field(default_factory=dict)
    _users: dict[str, list[str]] = field(default_factory=dict)

    def knows(self, identifier: str) -> bool:
        """Whether the catalogue has a template of this id."""
        return identifier in self._templates or self.catalogue.find("composes", identifier) is not None

    def template(self, identifier: str, user: str) -> Template | None:
        """The template, for one of its users; None when it is wrong, which `problems` tells."""
        self._users.setdefault(identifier, []).append(user)
        if identifier not in self._templates:
            report = self._problems.setdefault(identifier, [])
            self._templates[identifier] = self._read(identifier, report)
        return self._templates[identifier]

    def problems(self) -> list[Problem]:
        """What is wrong with the templates that are used."""
        return [
            replace(problem, hint=_with_users(problem.hint, self._users[identifier]))
            for identifier, problems in self._problems.items()
            for problem in problems
        ]

    def _read(self, identifier: str, report: list[Problem]) -> Template | None:
        found = self.catalogue.find("composes", identifier)
        if not isinstance(found, Document):
            report.extend(found or ())
            return None
        document = whole_document(self.catalogue, identifier, found, report)
        model, problems = check(ComposeFile, document) if document else (None, ())
        report.extend(problems)
        if document is None or model is None:
            return None
        engine = self._engine(document, model.x_steward, report)
        parts = read_service(document, model.services.engine, report)
        if engine is None:
            return None
        spoken = dialect(engine[0].type)
        _check_tenancy(document, model.x_steward, engine[0], report)
        parameters = declared_parameters(document, model.x_steward, spoken, report)
        if report:
            return None
        return Template(identifier, document, model.x_steward, parts, *engine, spoken, parameters)

    def _engine(self, document: Document, steward: XSteward, report: list[Problem]) -> tuple[EngineProfile, Document] | None:
        identifier = steward.engine
        if identifier not in self._profiles:
            found = self.catalogue.find("profiles/engines", identifier)
            if found is None:
                hint = nearest(identifier, self.catalogue.ids("profiles/engines"), "the catalogue has")
                path = ("x-steward", "engine")
                report.append(document.problem(path, RULE, f"there is no engine profile {identifier}", hint))
                return None
            self._profiles[identifier] = self._profile(found, report)
        return self._profiles[identifier]

    def _profile(self, found: Document | tuple[Problem, ...], report: list[Problem]) -> tuple[EngineProfile, Document] | None:
        if isinstance(found, tuple):
            report.extend(found)
            return None
        profile, problems = check(EngineProfile, found)
        report.extend(problems)
        if profile is None or not _usable(profile, found, report):
            return None
        return profile, found


def _usable(profile: EngineProfile, document: Document, report: list[Problem]) -> bool:
    before = len(report)
    if profile.image is not None and not is_reference(profile.image):
        hint = "write repository:tag or repository@sha256:digest"
        report.append(document.problem(("image",), "profile", f"{profile.image} is no image reference", hint))
    if profile.type not in DIALECTS:
        message = f"engines of type {profile.type} cannot be run by this version"
        report.append(document.problem(("type",), "profile", message, f"it runs {', '.join(sorted(DIALECTS))}"))
    return len(report) == before


def _check_tenancy(document: Document, steward: XSteward, profile: EngineProfile, report: list[Problem]) -> None:
    """Readiness and claim are said by tenants that Steward cannot ask; its engines are asked in their own way."""
    if isinstance(steward.readiness, HttpReadiness) and not steward.readiness.http.startswith("/"):
        path = ("x-steward", "readiness", "http")
        report.append(document.problem(path, RULE, "expected a path that begins with /", "write http: /health"))
    if profile.type is DialectName.GENERIC:
        return
    for key in ("readiness", "claim"):
        if key in steward.model_fields_set:
            message = f"{key} is for engines of type generic; {profile.id} is {profile.type}"
            report.append(document.problem(("x-steward", key), RULE, message, f"remove {key}", at_key=True))


def _with_users(hint: str, users: list[str]) -> str:
    named = ", ".join(users[:_USERS_NAMED]) + (f" and {len(users) - _USERS_NAMED} more" if len(users) > _USERS_NAMED else "")
    return f"{hint} (used by {named})" if hint else f"used by {named}"
