"""The profiles that come with Steward, read as Steward reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel

from controller.model.checking import check
from controller.model.document import Document
from controller.model.problem import Problem
from controller.model.profile import EngineProfile, HardwareProfile
from controller.model.profile_drafter import DrafterProfile
from controller.model.profile_limit import LimitProfile
from controller.model.profile_model import ModelProfile
from controller.model.profile_upstream import UpstreamFile
from controller.model.profile_workload import WorkloadProfile
from controller.settings import Bounds
from controller.sources.yaml_reader import read_document

M = TypeVar("M", bound=BaseModel)

ROOT: Final = Path(__file__).parents[2] / "profiles"


def parsed(model: type[M], file: str, text: bytes) -> M | tuple[Problem, ...]:
    """A text as its model, or what is wrong with it."""
    document = read_document(file, text, Bounds())
    if not isinstance(document, Document):
        return document
    made, problems = check(model, document)
    return problems if made is None else made


def documents(kind: str, model: type[M]) -> dict[str, M]:
    """Every profile of a kind by its file's name; a wrong one fails the test that imports it."""
    found: dict[str, M] = {}
    for path in sorted((ROOT / kind).glob("*.yml")):
        made = parsed(model, path.name, path.read_bytes())
        assert not isinstance(made, tuple), made
        found[path.stem] = made
    return found


def upstream() -> UpstreamFile:
    """The upstream tracker."""
    made = parsed(UpstreamFile, "upstream.yml", (ROOT / "upstream.yml").read_bytes())
    assert not isinstance(made, tuple), made
    return made


HARDWARE: Final = documents("hardware", HardwareProfile)
ENGINES: Final = documents("engines", EngineProfile)
MODELS: Final = documents("models", ModelProfile)
DRAFTERS: Final = documents("drafters", DrafterProfile)
WORKLOADS: Final = documents("workloads", WorkloadProfile)
LIMITS: Final = documents("limits", LimitProfile)
UPSTREAM: Final = upstream()
