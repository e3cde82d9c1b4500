"""How long the whole catalogue takes in a process that has read it before: every template at once, on four cards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from controller.model.document import Document
from controller.model.problem import Problem
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.model.snapshot import snapshot_of
from controller.resolve import Surroundings, binding, resolve
from controller.settings import Bounds
from controller.solver import Judgement, RigView, judge
from controller.sources.document_cache import DocumentCache
from controller.sources.rig_facts import rig_facts
from controller.sources.search_path import catalogue_for
from controller.sources.yaml_reader import read_document
from tests.bench.figure import Figure

RUNS = 20
RIG = "4x:rtx-3090"
IMAGES = ("generic/http", "sglang/generic")
"""Templates whose instances name the image themselves."""


def warm_catalogue() -> Iterator[Figure]:
    """Milliseconds for the rules alone, and for reading, resolving and judging."""
    bounds, documents = Bounds(), DocumentCache()
    catalogue = catalogue_for(snapshot_of(()), None, bounds, documents)
    facts, estate = rig_facts(RIG, catalogue, bounds), read_document("estate.yml", _estate(catalogue.ids("composes")), bounds)
    assert isinstance(facts, RigFacts)
    assert isinstance(estate, Document)

    def whole() -> Resolved | tuple[Problem, ...]:
        fresh = catalogue_for(snapshot_of(()), None, bounds, documents)
        return resolve([estate], fresh, Surroundings(facts, now=0.0, held=True), "bench")

    view = _view_of(whole)
    count = len(view.candidates)
    yield Figure(f"rules, {count} templates, warm", "ms", "<= 50 ms", tuple(_runs(lambda: judge(view))))
    yield Figure(f"resolved and judged, {count} templates, warm", "ms", "", tuple(_runs(whole)))


def _estate(templates: tuple[str, ...]) -> bytes:
    lines = ["estate:"]
    for number, template in enumerate(templates):
        image = ", image: 'an-image:1'" if template in IMAGES else ""
        lines.append(f"  - {{name: e{number}, compose: {template}, gpus: [{number % 4}], port: {8000 + number}{image}}}")
    return "\n".join(lines).encode()


def _view_of(whole: Callable[[], object]) -> RigView:
    """What the rules are shown in one resolution."""
    seen: list[RigView] = []

    def listening(view: RigView) -> Judgement:
        seen.append(view)
        return judge(view)

    binding.judge = listening  # type: ignore[attr-defined]
    try:
        whole()
    finally:
        binding.judge = judge  # type: ignore[attr-defined]
    return seen[0]


def _runs(work: Callable[[], object]) -> Iterator[float]:
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        yield (time.perf_counter() - began) * 1000
