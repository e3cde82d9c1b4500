"""A catalogue against itself: every document fits its kind, every name leads somewhere, every template suits some rig. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final, TypeVar

from pydantic import BaseModel

from controller.model.overlay import OVERLAYS, Overlay
from controller.model.problem import Problem, in_report_order
from controller.model.profile import EngineProfile, HardwareProfile
from controller.model.profile_drafter import DrafterProfile
from controller.model.profile_limit import LimitProfile
from controller.model.profile_model import ModelProfile
from controller.model.profile_upstream import UpstreamFile
from controller.model.profile_workload import WorkloadProfile
from controller.ports import Catalogue
from controller.resolve.catalogue_references import ROWS, RULE, Contents, reference_problems
from controller.resolve.fitting import template_problems
from controller.resolve.measurement_check import measurement_problems
from controller.resolve.profiles import Filed, Profiles

M = TypeVar("M", bound=BaseModel)
_TRACKER: Final = ("profiles", "upstream")
_NAMED: Final = ("composes", "profiles/engines", "profiles/models", "profiles/drafters", OVERLAYS)
"""Kinds whose documents others name."""


def check_catalogue(catalogue: Catalogue) -> tuple[Problem, ...]:
    """Every problem of every document, in report order."""
    profiles = Profiles(catalogue)
    contents = _contents(profiles)
    measured = tuple(measurement_problems(profiles))
    found = [problem for problems in profiles.problems.values() for problem in problems]
    found += measured
    found += _misnamed(contents)
    found += _twins(contents)
    found += _untracked(contents)
    found += reference_problems(contents)
    hardware = [filed.profile for filed in contents.hardware.values()]
    for identifier in catalogue.ids("composes"):
        found += template_problems(identifier, profiles, hardware)
    return in_report_order(found)


def _contents(profiles: Profiles) -> Contents:
    overlays = _all(profiles, OVERLAYS, Overlay)
    tracker = profiles.get(*_TRACKER, UpstreamFile)
    names = {kind: frozenset(profiles.catalogue.ids(kind)) for kind in _NAMED}
    names[OVERLAYS] |= {alias for overlay in overlays.values() for alias in overlay.profile.aliases}
    names[ROWS] = frozenset(row.id for row in tracker.profile.upstream) if tracker else frozenset()
    return Contents(
        hardware=_all(profiles, "profiles/hardware", HardwareProfile),
        engines=_all(profiles, "profiles/engines", EngineProfile),
        models=_all(profiles, "profiles/models", ModelProfile),
        drafters=_all(profiles, "profiles/drafters", DrafterProfile),
        workloads=_all(profiles, "profiles/workloads", WorkloadProfile),
        limits=_all(profiles, "profiles/limits", LimitProfile),
        overlays=overlays,
        upstream=tracker,
        names=names,
    )


def _all(profiles: Profiles, kind: str, model: type[M]) -> dict[str, Filed[M]]:
    found = {identifier: profiles.get(kind, identifier, model) for identifier in profiles.catalogue.ids(kind)}
    return {identifier: filed for identifier, filed in found.items() if filed is not None}


def _misnamed(contents: Contents) -> Iterator[Problem]:
    """Documents are found by their file's name, so that another id in them would be told to people and never be found."""
    kinds = (contents.hardware, contents.engines, contents.models, contents.drafters, contents.workloads)
    for kind in (*kinds, contents.limits, contents.overlays):
        for identifier, filed in kind.items():
            if filed.profile.id != identifier:
                message = f"the id is {filed.profile.id}, and the file is called {identifier}"
                yield filed.document.problem(("id",), RULE, message, f"write id: {identifier}, or rename the file")
    if contents.upstream is not None:
        seen: set[str] = set()
        for position, row in enumerate(contents.upstream.profile.upstream):
            if row.id in seen:
                message = f"there is a row {row.id} already"
                path = ("upstream", position, "id")
                yield contents.upstream.document.problem(path, RULE, message, "give each row an id of its own")
            seen.add(row.id)


def _untracked(contents: Contents) -> Iterator[Problem]:
    """Overlays that say neither what they wait for upstream nor that there is nothing."""
    for overlay in contents.overlays.values():
        if not overlay.profile.upstream:
            hint = "name its rows of profiles/upstream.yml, or write upstream: none with an upstream_reason"
            yield overlay.document.problem(("upstream",), RULE, "the overlay has no row in the upstream tracker", hint)


def _twins(contents: Contents) -> Iterator[Problem]:
    """Two hardware profiles that describe one card."""
    for one, two in combinations(contents.hardware.values(), 2):
        for position, name in enumerate(two.profile.names):
            if one.profile.describes(name, two.profile.usable_bytes) or (
                name in one.profile.names and two.profile.describes(name, one.profile.usable_bytes)
            ):
                message = f"{one.profile.id} describes the same card"
                yield two.document.problem(("names", position), RULE, message, "a name and its memory belong to one profile")
