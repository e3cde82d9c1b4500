"""What a user's own profile may say: misspelt keys and words, contradictions, and what may be left out."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from controller.model.profile import EngineProfile, HardwareProfile
from controller.model.profile_architecture import Architecture
from controller.model.profile_drafter import DrafterProfile
from controller.model.profile_limit import LimitProfile
from controller.model.profile_model import ModelProfile
from controller.model.profile_upstream import UpstreamFile
from controller.model.profile_words import DialectName, KvFormat
from controller.model.profile_workload import WorkloadProfile
from tests.unit.profiles import parsed

CARD = "id: x, name: X, memory_gib: 24, compute_capability: 8.6"
ENGINE = "id: x, type: vllm, image: 'x:1'"
MODEL = "id: x, name: X, family: dense, architecture: {layers: 2, hidden_size: 64, full_attention: {layers: 2, kv_heads: 1}}"
DRAFTER = "id: x, name: X, method: mtp, models: [y], tokens_default: 3, tokens_max: 3"
WORKLOAD = "id: x, name: X, priorities: {}, defaults: {max_num_seqs: 1, drafter: true}"
WHERE = "applies_to: {engine_types: [vllm]}"
LIMIT = f"id: x, title: X, {WHERE}, symptom: out_of_memory, evidence: [seen], way_out: [less], as_of: '2026-08-22'"
ROW = "id: x, repository: a/b, number: 1, kind: issue, title: X, status: open, effect: none"


@pytest.mark.parametrize(
    ("model", "fields", "path", "words", "hint"),
    [
        (HardwareProfile, f"{CARD}, nvlnk: true", "nvlnk", "unknown key `nvlnk`", "did you mean `nvlink`?"),
        (HardwareProfile, f"{CARD}, usable_gib: 0", "usable_gib", "a number above 0", ""),
        (HardwareProfile, f"{CARD}, kv_formats: [fp8_e5m]", "kv_formats[0]", "expected `bf16`", "did you mean `fp8_e5m2`?"),
        (HardwareProfile, f"{CARD}, pcie: {{generation: 4, lanes: 32}}", "pcie.lanes", "from 1 to 16", ""),
        (HardwareProfile, "id: x, name: X, memory_gib: 24, compute_capability: 86a", "compute_capability", "such as 8.6", ""),
        (EngineProfile, f"{ENGINE}, chanel: stable", "chanel", "unknown key", "did you mean `channel`?"),
        (EngineProfile, f"{ENGINE}, families: all", "families", "expected `any` or a list of texts", "write a list: [all]"),
        (EngineProfile, f"{ENGINE}, weight_formats: [gpt]", "weight_formats[0]", "`gptq`", "did you mean `gptq`?"),
        (EngineProfile, f"{ENGINE}, features: {{x: maybe}}", "features.x", "`stable_only`", ""),
        (EngineProfile, f"{ENGINE}, availability: {{state: gone}}", "availability.state", "`purged`", ""),
        (ModelProfile, f"{MODEL}, valid_tp: [0]", "valid_tp[0]", "from 1 to 16", ""),
        (ModelProfile, f"{MODEL}, weigths: {{}}", "weigths", "unknown key", "did you mean `weights`?"),
        (DrafterProfile, DRAFTER.replace("mtp", "mpt"), "method", "`dflash`", "did you mean `mtp`?"),
        (DrafterProfile, DRAFTER.replace("max: 3", "max: 2"), "", "tokens_default of at most tokens_max, which is 2", ""),
        (WorkloadProfile, WORKLOAD.replace("{}", "{concurrency: hihg}"), "priorities.concurrency", "`low`", "mean `high`?"),
        (LimitProfile, f"{LIMIT}", "", "one of accumulated, single_prompt and max_model_len", ""),
        (LimitProfile, f"{LIMIT}, accumulated: {{low: 2, high: 1}}", "accumulated", "low to be at most high", ""),
        (LimitProfile, f"{LIMIT}, max_model_len: {{holds: 2, fails: 2}}", "max_model_len", "holds to be below fails", ""),
        (UpstreamFile, f"upstream: [{{{ROW}, status_date: May}}]", "upstream[0].status_date", "a day such as", ""),
        (UpstreamFile, f"upstream: [{{{ROW}, droped_when: x}}]", "upstream[0].droped_when", "unknown", "mean `drop_when`?"),
    ],
)
def test_mistakes_are_told_where_they_stand(model: type[BaseModel], fields: str, path: str, words: str, hint: str) -> None:
    """Given a profile with one mistake, when it is read, then one problem names the place, what was expected and a hint."""
    found = parsed(model, "x.yml", f"{{{fields}}}\n".encode())
    assert isinstance(found, tuple)
    (problem,) = found
    assert problem.path == path
    assert words in problem.message
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("layers: 4, full_attention: {layers: 3, kv_heads: 1}", "kinds of layers that add up to 4"),
        ("layers: 4, full_attention: {kv_heads: 1}, latent_attention: {layers: 5, latent_and_rope: 8}", "add up to 4"),
    ],
)
def test_kinds_of_layers_add_up(fields: str, words: str) -> None:
    """Given a geometry whose kinds are more or fewer than its layers, when it is read, then that is an error."""
    found = parsed(Architecture, "x.yml", f"{{hidden_size: 64, {fields}}}\n".encode())
    assert isinstance(found, tuple)
    assert words in found[0].message


def test_a_split_that_is_not_known_may_be_left_out() -> None:
    """Given a geometry that says nothing of its kinds, or of how many there are of one, when it is read, then it is fine."""
    for kinds in ("", ", full_attention: {kv_heads: 2}"):
        found = parsed(Architecture, "x.yml", f"{{layers: 88, hidden_size: 64{kinds}}}\n".encode())
        assert isinstance(found, Architecture)


@pytest.mark.parametrize(
    "weights",
    ["weights: {}", "weights: {a: {format: bf16, status: production, role: drafter}}"],
    ids=["absent", "of a drafter"],
)
def test_default_weights_are_weights_of_the_model(weights: str) -> None:
    """Given default weights that are missing or a drafter's, when the profile is read, then that is an error."""
    found = parsed(ModelProfile, "x.yml", f"{{{MODEL}, default_weights: a, {weights}}}\n".encode())
    assert isinstance(found, tuple)
    assert "default_weights to name weights of the model itself" in found[0].message


def test_an_engine_profile_may_say_as_little_as_its_type_and_image() -> None:
    """Given an engine profile of three keys, when it is read, then what it does not say is not known, which is not none."""
    found = parsed(EngineProfile, "x.yml", b"{id: x, type: llama-cpp, image: 'x:1'}\n")
    assert isinstance(found, EngineProfile)
    assert found.type is DialectName.LLAMACPP
    assert (found.families, found.kv_formats, found.drafter_methods, found.weight_formats) == (None, None, None, None)
    assert found.availability.as_of is None


@pytest.mark.parametrize(
    ("name", "gib", "fits"),
    [("RTX X", 23.56, True), ("RTX X", 24.0, True), ("RTX X", 20.0, False), ("RTX X", 24.5, False), ("RTX X Ti", 23.56, False)],
)
def test_a_card_is_known_by_name_and_memory(name: str, gib: float, fits: bool) -> None:
    """Given a driver's name and total, when a profile is asked, then both must fit, the total with what firmware keeps."""
    profile = parsed(HardwareProfile, "x.yml", f"{{{CARD}, names: [RTX X]}}\n".encode())
    assert isinstance(profile, HardwareProfile)
    assert profile.describes(name, int(gib * 2**30)) is fits


def test_words_are_members_of_their_vocabulary() -> None:
    """Given a word of a closed vocabulary, when it is read, then it is that member and still the word."""
    found = parsed(HardwareProfile, "x.yml", f"{{{CARD}, kv_formats: [k8v4]}}\n".encode())
    assert isinstance(found, HardwareProfile)
    assert found.kv_formats == (KvFormat.K8V4,)
    assert found.kv_formats == ("k8v4",)
