"""The JSON documents of `steward catalog list` and `suggest`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from pydantic import BaseModel

from controller.model.overlay import OVERLAYS, Overlay
from controller.model.profile import EngineProfile, HardwareProfile
from controller.model.profile_drafter import DrafterProfile
from controller.model.profile_limit import LimitProfile
from controller.model.profile_model import ModelProfile
from controller.model.profile_workload import WorkloadProfile
from controller.resolve.fitting import card_count
from controller.resolve.profiles import Profiles
from controller.resolve.suggesting import Suggestion, Suggestions
from controller.resolve.template import Template, read_template

Value: TypeAlias = str | int | float | bool | list[str] | list[int] | None
Row: TypeAlias = dict[str, Value]
CatalogueDocument: TypeAlias = dict[str, list[Row]]

COMPOSES: Final = "composes"
KINDS: Final[Mapping[str, tuple[str, type[BaseModel] | None]]] = {
    COMPOSES: (COMPOSES, None),
    "models": ("profiles/models", ModelProfile),
    "engines": ("profiles/engines", EngineProfile),
    "hardware": ("profiles/hardware", HardwareProfile),
    "drafters": ("profiles/drafters", DrafterProfile),
    "workloads": ("profiles/workloads", WorkloadProfile),
    "overlays": (OVERLAYS, Overlay),
    "limits": ("profiles/limits", LimitProfile),
}
"""Each kind as users name it: the kind of its documents, and their model (templates are read whole)."""


def catalogue_document(profiles: Profiles, kinds: Sequence[str]) -> CatalogueDocument:
    """What the catalogue has of these kinds, by id; documents that are wrong are left out."""
    return {kind: _composes(profiles) if kind == COMPOSES else _profiles(profiles, kind) for kind in kinds}


def _composes(profiles: Profiles) -> list[Row]:
    read = (read_template(identifier, profiles).template for identifier in profiles.catalogue.ids(COMPOSES))
    return [_compose(template) for template in read if template is not None]


def _compose(template: Template) -> Row:
    steward = template.steward
    return {
        "id": template.identifier,
        "engine": steward.engine,
        "model": steward.model,
        "status": steward.status,
        "weights": template.ingredients.weights_id or None,
        "drafter": steward.drafter,
        "workload": steward.workload,
        "gpus": None if steward.model is None and steward.requires.gpus is None else card_count(template),
        "note": steward.note,
    }


def _profiles(profiles: Profiles, kind: str) -> list[Row]:
    folder, model = KINDS[kind]
    assert model is not None, "templates have no profile"
    return [_ROWS[kind](filed.profile) for filed in profiles.all(folder, model)]


def _model(model: ModelProfile) -> Row:
    return {
        "id": model.id,
        "name": model.name,
        "family": model.family,
        "max_context_tokens": model.max_context_tokens,
        "vision": model.vision,
        "weights": list(model.weights),
        "drafters": list(model.drafters),
    }


def _engine(engine: EngineProfile) -> Row:
    return {
        "id": engine.id,
        "type": engine.type.value,
        "channel": engine.channel,
        "image": engine.image,
        "availability": engine.availability.state.value,
        "as_of": engine.availability.as_of,
    }


def _hardware(card: HardwareProfile) -> Row:
    return {
        "id": card.id,
        "name": card.name,
        "memory_gib": card.memory_gib,
        "compute_capability": card.compute_capability,
        "nvlink": card.nvlink,
        "architecture": card.architecture,
    }


def _drafter(drafter: DrafterProfile) -> Row:
    return {
        "id": drafter.id,
        "name": drafter.name,
        "method": drafter.method.value,
        "tokens_default": drafter.tokens_default,
        "status": drafter.status.value if drafter.status else None,
        "models": list(drafter.models),
    }


def _workload(workload: WorkloadProfile) -> Row:
    return {
        "id": workload.id,
        "name": workload.name,
        "max_num_seqs": workload.defaults.max_num_seqs,
        "drafter": workload.defaults.drafter,
        "note": workload.note,
    }


def _overlay(overlay: Overlay) -> Row:
    return {
        "id": overlay.id,
        "title": overlay.title,
        "mechanism": overlay.mechanism.value if overlay.mechanism else None,
        "source": overlay.source if isinstance(overlay.source, str) else next(iter(overlay.source.model_fields_set)),
        "upstream": list(overlay.rows),
    }


def _limit(limit: LimitProfile) -> Row:
    return {
        "id": limit.id,
        "title": limit.title,
        "symptom": limit.symptom.value,
        "engine_types": [engine.value for engine in limit.applies_to.engine_types],
        "as_of": limit.as_of,
    }


_ROWS: Final[Mapping[str, Callable[..., Row]]] = {
    "models": _model,
    "engines": _engine,
    "hardware": _hardware,
    "drafters": _drafter,
    "workloads": _workload,
    "overlays": _overlay,
    "limits": _limit,
}


def suggestions_document(found: Suggestions, rig: str, workload: str, entry: str) -> dict[str, object]:
    """Best first, then what the rig does not suit; `entry` is the estate with the best one, as YAML."""
    return {
        "rig": rig,
        "workload": workload,
        "suggestions": [_suggestion(one) for one in found.ranked],
        "refused": [{"compose": one.template, "rule": one.rule, "message": one.text} for one in found.refused],
        "estate": entry,
    }


def _suggestion(one: Suggestion) -> dict[str, object]:
    speed = one.speed
    return {
        "compose": one.template,
        "model": one.model,
        "engine": one.engine,
        "status": one.status,
        "gpus": list(one.cards),
        "max_model_len": one.context,
        "tokens_per_second": speed.tokens_per_second if speed else None,
        "measured": {"what": speed.what, "timing": speed.timing, "as_of": speed.as_of} if speed else None,
        "warnings": [{"rule": caveat.rule, "message": caveat.text} for caveat in one.caveats],
        "made_for_it": one.made_for_it,
        "entry": dict(one.entry.keys),
    }
