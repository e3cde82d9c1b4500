"""A template: read whole, with its engine and all that it names out of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.dialects.dialect import Dialect
from controller.dialects.registry import dialect
from controller.model.checking import check
from controller.model.compose import ComposeFile, HttpReadiness, XSteward
from controller.model.document import Document
from controller.model.problem import Place, Problem
from controller.model.profile import DialectName, EngineProfile
from controller.resolve.declared import Declared, declared_parameters
from controller.resolve.derived import derived_values
from controller.resolve.image_reference import is_reference
from controller.resolve.ingredients import Ingredients, ingredients_of
from controller.resolve.inheritance import RULE, whole_document
from controller.resolve.profiles import Filed, Key, Namer, Profiles
from controller.resolve.service import ServiceParts, read_service


@dataclass(frozen=True, slots=True)
class Template:
    """One template, whole and valid, with its engine and what it serves."""

    identifier: str
    document: Document
    steward: XSteward
    parts: ServiceParts
    profile: EngineProfile
    profile_document: Document
    dialect: Dialect
    ingredients: Ingredients
    parameters: Mapping[str, Declared]

    def place(self, *path: str | int) -> Place:
        """Where a value of the template stands."""
        return self.document.place(path)


@dataclass(frozen=True, slots=True)
class Read:
    """What became of one template: itself, or None with its own problems; `needs` are the profiles that it names."""

    template: Template | None
    problems: tuple[Problem, ...] = ()
    needs: tuple[Key, ...] = ()


def read_template(identifier: str, profiles: Profiles) -> Read:
    """The template of an id."""
    report: list[Problem] = []
    found = profiles.catalogue.find("composes", identifier)
    if not isinstance(found, Document):
        return Read(None, found or ())
    document = whole_document(profiles.catalogue, identifier, found, report)
    model, problems = check(ComposeFile, document) if document else (None, ())
    if document is None or model is None:
        return Read(None, (*report, *problems))
    namer = Namer(profiles, document, report, RULE)
    parts = read_service(document, model.services.engine, report)
    engine = _engine(model.x_steward, namer)
    goods = ingredients_of(model.x_steward, namer)
    template = _template(identifier, namer, model.x_steward, parts, engine, goods) if engine else None
    broken = report or any(key in profiles.problems for key in namer.needs)
    return Read(None if broken else template, tuple(report), tuple(namer.needs))


def _template(
    identifier: str, namer: Namer, steward: XSteward, parts: ServiceParts, engine: Filed[EngineProfile], goods: Ingredients
) -> Template:
    document, report, profile = namer.document, namer.report, engine.profile
    spoken = dialect(profile.type)
    _check_tenancy(document, steward, profile, report)
    derived = derived_values(document, steward, goods, spoken.name)
    parameters = declared_parameters(document, steward, spoken, derived, report)
    return Template(identifier, document, steward, parts, profile, engine.document, spoken, goods, parameters)


def _engine(steward: XSteward, namer: Namer) -> Filed[EngineProfile] | None:
    found = namer.named(("x-steward", "engine"), "profiles/engines", steward.engine, EngineProfile, "engine profile")
    if found is None:
        return None
    key = ("profiles/engines", steward.engine)
    if problems := tuple(_unusable(found)):
        namer.profiles.problems.setdefault(key, problems)
        return None
    return found


def _unusable(engine: Filed[EngineProfile]) -> list[Problem]:
    profile, document, report = engine.profile, engine.document, []
    if profile.image is not None and not is_reference(profile.image):
        hint = "write repository:tag or repository@sha256:digest"
        report.append(document.problem(("image",), "profile", f"{profile.image} is no image reference", hint))
    return report


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
