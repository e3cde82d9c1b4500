"""What `steward explain` prints, whole, for one template that comes with Steward."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from controller.model.document import Document
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.model.snapshot import snapshot_of
from controller.model.verdict import Outcome, Verdict
from controller.resolve import Surroundings, resolve
from controller.resolve.explain import explain_text
from controller.settings import Bounds
from controller.sources.rig_facts import rig_facts
from controller.sources.search_path import builtin_root, catalogue_for
from controller.sources.yaml_reader import read_document
from tests.unit.resolving import one

GOLDEN = Path(__file__).parent / "golden" / "explain.txt"
ESTATE = """\
estate:
  - name: chat
    compose: vllm/dual
    gpus: {count: 2, nvlink: require}
    port: 8010
    image: vllm/vllm-openai:latest
    waive: [{rule: G4, reason: our own mirror never moves a tag, until: 2030-01-01T00:00:00Z}]
"""
NOW = 1_800_000_000.0


def explained(rig: str) -> str:
    """The text for the only instance, with places below the folder that Steward's own documents lie in."""
    bounds = Bounds()
    catalogue = catalogue_for(snapshot_of(()), None, bounds)
    facts = rig_facts(rig, catalogue, bounds)
    document = read_document("desired/estate.yml", ESTATE.encode(), bounds)
    assert isinstance(facts, RigFacts)
    assert isinstance(document, Document)
    found = resolve([document], catalogue, Surroundings(facts, now=NOW), "rev")
    assert isinstance(found, Resolved), found
    return explain_text(found.instances[0]).replace(f"{builtin_root()}/", "")


def test_explain_reads_as_agreed() -> None:
    """Given a template with model, drafter and overlays, when it is explained, then the text is the agreed one."""
    assert explained("1x:rtx-5090+2x:rtx-3090:nvlink") == GOLDEN.read_text()


def test_a_verdict_without_words_has_the_rule_s_title() -> None:
    """Given a rule that holds and has nothing to add, when the instance is explained, then its title says what holds."""
    instance = one("name: a, compose: llama/any, gpus: [], port: 8010, set: {model_file: a.gguf}")
    text = explain_text(replace(instance, verdicts=(Verdict("E4", "a", Outcome.HOLDS),)))
    assert text.splitlines()[-1] == "E4  holds  a port of its own"
