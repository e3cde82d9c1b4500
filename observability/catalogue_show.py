"""The JSON documents of `steward catalog show`: one template, or one profile with those that use it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypedDict, final

from pydantic import BaseModel

from controller.model.document import Plain
from controller.model.fields import SecretRef
from controller.model.parameters import Value
from controller.model.profile import EngineProfile
from controller.model.profile_limit import LimitProfile
from controller.model.profile_measurement import Measurement
from controller.resolve.declared import Declared
from controller.resolve.estate_text import entries_yaml
from controller.resolve.fitting import card_count
from controller.resolve.measured import measurements
from controller.resolve.overlays import overlay_named
from controller.resolve.profiles import Filed, Profiles
from controller.resolve.suggesting import entry_of
from controller.resolve.template import Template, read_template
from controller.resolve.template_limits import limits_of, overlays_in
from observability.catalogue import COMPOSES

_NOT_SHOWN: Final = ("extra_args", "served_name")
"""Open on every template, so that listing them says nothing."""


class ParameterDocument(TypedDict):
    """A parameter; `from` is where its default stands, null where it has none."""

    name: str
    default: Plain
    min: int | float | None
    max: int | float | None
    settable: bool
    place: str | None


@final
class TemplateDocument(TypedDict):
    """A template with all that it names; `estate` is an estate that uses it, as YAML."""

    kind: str
    id: str
    file: str
    note: str
    status: str
    engine: dict[str, Plain]
    model: dict[str, Plain] | None
    weights: dict[str, Plain] | None
    drafter: str | None
    workload: str | None
    requires: dict[str, Plain]
    parameters: list[ParameterDocument]
    overlays: list[dict[str, Plain]]
    limits: list[dict[str, Plain]]
    measurements: list[dict[str, Plain]]
    estate: str


@final
class ProfileDocument(TypedDict):
    """A profile as it is written, without what is null, and the templates that use it."""

    kind: str
    id: str
    file: str
    data: Plain
    used_by: list[str]


def template_document(template: Template, profiles: Profiles) -> TemplateDocument:
    """Everything that one has to know to use it."""
    steward, goods = template.steward, template.ingredients
    model, weights = goods.model, goods.weights
    return {
        "kind": COMPOSES,
        "id": template.identifier,
        "file": template.document.file,
        "note": steward.note,
        "status": steward.status,
        "engine": _engine(template.profile, template.parts.service.image),
        "model": _fields(model.profile, "id", "name", "family", "max_context_tokens", "vision") if model else None,
        "weights": _weights(goods.weights_id, weights) if weights else None,
        "drafter": steward.drafter,
        "workload": steward.workload,
        "requires": {"gpus": card_count(template), **_written(steward.requires, "gpus")},
        "parameters": [_parameter(one) for name, one in template.parameters.items() if name not in _NOT_SHOWN],
        "overlays": [_fields(filed.profile, "id", "title") for filed in overlays_in(template, profiles)],
        "limits": [_limit(limit) for limit in limits_of(template, profiles)],
        "measurements": [_measurement(row) for row in measurements(profiles) if row.template == template.identifier],
        "estate": entries_yaml([entry_of(template)]),
    }


def _engine(engine: EngineProfile, image: str | None) -> dict[str, Plain]:
    return {
        "id": engine.id,
        "type": engine.type.value,
        "image": image or engine.image,
        "availability": engine.availability.state.value if image in (None, engine.image) else None,
        "as_of": engine.availability.as_of,
    }


def _weights(identifier: str, weights: BaseModel) -> dict[str, Plain]:
    return {"id": identifier, **_fields(weights, "format", "size_gb", "directory", "repository", "status", "note")}


def _parameter(declared: Declared) -> ParameterDocument:
    return {
        "name": declared.name,
        "default": None if declared.default is None else _plain(declared.default),
        "min": declared.low,
        "max": declared.high,
        "settable": declared.settable,
        "place": str(declared.place) if declared.place and declared.default is not None else None,
    }


def _plain(value: Value) -> Plain:
    if isinstance(value, SecretRef):
        return {"secret": value.secret}
    return list(value) if isinstance(value, tuple) else value


def _limit(limit: LimitProfile) -> dict[str, Plain]:
    found = _fields(limit, "id", "title", "symptom", "as_of")
    return {**found, "card_memory_gib_max": limit.applies_to.card_memory_gib_max, "way_out": list(limit.way_out)}


def _measurement(row: Measurement) -> dict[str, Plain]:
    found = _fields(row, "nvlink", "kv_format", "context", "prose", "code", "timing", "as_of", "source")
    return {"cards": list(row.cards), **found}


def _fields(model: BaseModel, *names: str) -> dict[str, Plain]:
    return {name: value for name, value in model.model_dump(mode="json", include=set(names)).items() if name in names}


def _written(model: BaseModel, *without: str) -> dict[str, Plain]:
    dumped: dict[str, Plain] = model.model_dump(mode="json", exclude_defaults=True, exclude=set(without))
    return dumped


def profile_document(kind: str, filed: Filed[BaseModel], profiles: Profiles) -> ProfileDocument:
    """The profile and who uses it."""
    identifier = str(getattr(filed.profile, "id", ""))
    return {
        "kind": kind,
        "id": identifier,
        "file": filed.document.file,
        "data": _without_nulls(filed.document.data),
        "used_by": list(_users(kind, identifier, profiles)),
    }


def _without_nulls(value: Plain) -> Plain:
    if isinstance(value, Mapping):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _users(kind: str, identifier: str, profiles: Profiles) -> Iterator[str]:
    """The templates that name it; of a limit those that run into it, of a card those that were measured on one."""
    measured = {row.template for row in measurements(profiles) if identifier in row.cards}
    for name in profiles.catalogue.ids(COMPOSES):
        template = read_template(name, profiles).template
        if template is not None and _uses(template, kind, identifier, profiles, measured):
            yield name


def _uses(template: Template, kind: str, identifier: str, profiles: Profiles, measured: set[str]) -> bool:
    steward = template.steward
    match kind:
        case "models" | "engines" | "drafters" | "workloads":
            return bool(getattr(steward, kind.removesuffix("s")) == identifier)
        case "overlays":
            return any(found.profile.id == identifier for name in steward.overlays if (found := overlay_named(profiles, name)))
        case "limits":
            return any(limit.id == identifier for limit in limits_of(template, profiles))
        case _:
            return template.identifier in measured
