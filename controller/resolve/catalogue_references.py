"""What the documents of a catalogue name: each name with its place and the kinds that it may be of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from controller.model.document import Document
from controller.model.overlay import OVERLAYS, Overlay
from controller.model.problem import DocPath, Problem
from controller.model.profile import EngineProfile, HardwareProfile
from controller.model.profile_drafter import DrafterProfile
from controller.model.profile_limit import LimitProfile
from controller.model.profile_model import ModelProfile
from controller.model.profile_upstream import UpstreamFile
from controller.model.profile_workload import WorkloadProfile
from controller.resolve.nearest import nearest
from controller.resolve.profiles import Filed

RULE: Final = "catalogue"
ROWS: Final = "rows of the upstream tracker"
"""Stands for their kind, which has no folder."""
_WORDS: Final = {
    "composes": "template",
    "profiles/engines": "engine profile",
    "profiles/models": "model",
    "profiles/drafters": "drafter",
    OVERLAYS: "overlay",
    ROWS: "row in profiles/upstream.yml",
}


@dataclass(slots=True)
class Contents:
    """Everything in a catalogue that fits its kind, by id; `names` holds what may be mentioned, broken documents too."""

    hardware: Mapping[str, Filed[HardwareProfile]] = field(default_factory=dict)
    engines: Mapping[str, Filed[EngineProfile]] = field(default_factory=dict)
    models: Mapping[str, Filed[ModelProfile]] = field(default_factory=dict)
    drafters: Mapping[str, Filed[DrafterProfile]] = field(default_factory=dict)
    workloads: Mapping[str, Filed[WorkloadProfile]] = field(default_factory=dict)
    limits: Mapping[str, Filed[LimitProfile]] = field(default_factory=dict)
    overlays: Mapping[str, Filed[Overlay]] = field(default_factory=dict)
    upstream: Filed[UpstreamFile] | None = None
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Mention:
    """A name at a place, and the kinds of which one must have it."""

    document: Document
    path: DocPath
    name: str
    kinds: tuple[str, ...]


def reference_problems(contents: Contents) -> Iterator[Problem]:
    """Names that lead nowhere, and pairs of documents of which one names the other and not the other way round."""
    for mention in _mentions(contents):
        if not any(mention.name in contents.names.get(kind, ()) for kind in mention.kinds):
            what = " or ".join(_WORDS[kind] for kind in mention.kinds)
            known = [name for kind in mention.kinds for name in contents.names.get(kind, ())]
            hint = nearest(mention.name, known, "there are")
            yield mention.document.problem(mention.path, RULE, f"there is no {what} {mention.name}", hint)
    yield from _one_sided(contents)


def _mentions(contents: Contents) -> Iterator[_Mention]:
    for model in contents.models.values():
        yield from _each(model.document, ("drafters",), model.profile.drafters, "profiles/drafters")
    for drafter in contents.drafters.values():
        yield from _each(drafter.document, ("models",), drafter.profile.models, "profiles/models")
    for engine in contents.engines.values():
        yield from _of_engine(engine)
    for limit in contents.limits.values():
        at: DocPath = ("applies_to",)
        yield from _each(limit.document, (*at, "models"), limit.profile.applies_to.models, "profiles/models")
        yield from _each(limit.document, (*at, "without_overlays"), limit.profile.applies_to.without_overlays, OVERLAYS)
        yield from _each(limit.document, ("upstream",), limit.profile.upstream, ROWS)
    for overlay in contents.overlays.values():
        yield from _of_overlay(overlay)
    if contents.upstream is not None:
        yield from _of_tracker(contents.upstream)


def _each(document: Document, path: DocPath, names: Iterable[str], *kinds: str) -> Iterator[_Mention]:
    for position, name in enumerate(names):
        yield _Mention(document, (*path, position), name, kinds)


def _of_engine(engine: Filed[EngineProfile]) -> Iterator[_Mention]:
    profile, document = engine.profile, engine.document
    yield from _each(document, ("required_overlays",), profile.required_overlays, OVERLAYS)
    yield from _each(document, ("vendored_overlays",), profile.vendored_overlays, OVERLAYS)
    for feature, overlay in profile.feature_origin.items():
        yield _Mention(document, ("feature_origin", feature), overlay, (OVERLAYS,))
    if (pin := profile.pin) is not None:
        yield from _each(document, ("pin", "overlays"), pin.overlays, OVERLAYS)
        yield from _each(document, ("pin", "contains"), pin.contains, ROWS)
        yield from _each(document, ("pin", "lacks"), pin.lacks, ROWS)
        if pin.successor is not None:
            yield _Mention(document, ("pin", "successor"), pin.successor, ("profiles/engines",))


def _of_overlay(overlay: Filed[Overlay]) -> Iterator[_Mention]:
    profile, document = overlay.profile, overlay.document
    yield from _each(document, ("upstream",), profile.rows, ROWS)
    yield from _each(document, ("requires",), profile.requires, OVERLAYS)
    yield from _each(document, ("needed_for",), profile.needed_for, "profiles/engines")
    yield from _each(document, ("redundant_for",), profile.redundant_for, "profiles/engines")
    for position, conflict in enumerate(profile.conflicts):
        yield _Mention(document, ("conflicts", position, "with"), conflict.with_, (OVERLAYS, "profiles/engines"))


def _of_tracker(tracker: Filed[UpstreamFile]) -> Iterator[_Mention]:
    for position, row in enumerate(tracker.profile.upstream):
        at: DocPath = ("upstream", position)
        anything = ("profiles/engines", "profiles/models", "profiles/drafters", "composes")
        yield from _each(tracker.document, (*at, "affects"), row.affects, *anything)
        yield from _each(tracker.document, (*at, "workaround_overlays"), row.workaround_overlays, OVERLAYS)
        yield from _each(tracker.document, (*at, "related"), row.related, ROWS)
    for position, build in enumerate(tracker.profile.builds):
        yield from _each(tracker.document, ("builds", position, "contains"), build.contains, ROWS)


def _one_sided(contents: Contents) -> Iterator[Problem]:
    """A model and its drafters name each other."""
    for name, model in contents.models.items():
        for position, drafter in enumerate(model.profile.drafters):
            if drafter in contents.drafters and name not in contents.drafters[drafter].profile.models:
                hint = f"add {name} to its models, or remove it here"
                message = f"drafter {drafter} does not name model {name}"
                yield model.document.problem(("drafters", position), RULE, message, hint)
    for name, drafting in contents.drafters.items():
        for position, served in enumerate(drafting.profile.models):
            if served in contents.models and name not in contents.models[served].profile.drafters:
                hint = f"add {name} to its drafters, or remove it here"
                message = f"model {served} does not name drafter {name}"
                yield drafting.document.problem(("models", position), RULE, message, hint)
