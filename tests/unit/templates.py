"""The templates that come with Steward, read and resolved as Steward does it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from controller.model.checking import check
from controller.model.compose import ComposeFile
from controller.model.document import Document
from controller.model.problem import Problem
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.model.snapshot import snapshot_of
from controller.resolve import Surroundings, resolve
from controller.resolve.inheritance import whole_document
from controller.settings import Bounds
from controller.sources.overlay_files import OverlayFiles
from controller.sources.rig_facts import rig_facts
from controller.sources.search_path import catalogue_for
from controller.sources.yaml_reader import read_document

ROOT: Final = Path(__file__).parents[2] / "composes"
BOUNDS: Final = Bounds()
CATALOGUE: Final = catalogue_for(snapshot_of(()), None, BOUNDS)
PAYLOADS: Final = OverlayFiles(snapshot_of(()), BOUNDS)
TEMPLATES: Final = CATALOGUE.ids("composes")
RIG: Final = "4x:rtx-3090:nvlink"
"""Cards for every template."""
GIVEN: Final = {
    "generic/http": "image: 'images:1'",
    "llamacpp/generic": "set: {model_file: model.gguf}",
    "llamacpp/split": "set: {model_file: model.gguf}",
    "sglang/generic": "image: 'sglang:1', set: {model_path: model}",
    "vllm/generic": "set: {model_path: model}",
}
"""What an entry must say besides name, compose, cards and port."""


def whole(identifier: str) -> ComposeFile:
    """A template with all that it extends; a wrong one fails."""
    found, report = CATALOGUE.find("composes", identifier), list[Problem]()
    assert isinstance(found, Document), found
    document = whole_document(CATALOGUE, identifier, found, report)
    assert document is not None, report
    template, problems = check(ComposeFile, document)
    assert template is not None, problems
    assert [*report, *problems] == []
    return template


def alone(identifier: str, rig: str = RIG) -> Resolved | tuple[Problem, ...]:
    """An estate with one instance of a template on as many cards as it needs, in force: what the solver says only warns."""
    needs = whole(identifier).x_steward.requires
    more = f", {GIVEN[identifier]}" if identifier in GIVEN else ""
    entry = f"name: one, compose: {identifier}, gpus: {list(range(needs.gpus or 1))}, port: 8010{more}"
    text = f"rig: {{paths: {{engine_cache: /srv/cache}}}}\nestate: [{{{entry}}}]"
    estate, facts = read_document("estate.yml", text.encode(), BOUNDS), rig_facts(rig, CATALOGUE, BOUNDS)
    assert isinstance(estate, Document), estate
    assert isinstance(facts, RigFacts), facts
    return resolve([estate], CATALOGUE, Surroundings(facts, held=True, payloads=PAYLOADS.payload), "rev")
