"""Models, weights, drafters and workloads: what a template names, and the parameters that follow from it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.unit.resolving import CATALOGUE, errors_of, grave, one, places, problems, resolved

MODEL = """
id: parrot-9b
name: Parrot 9B
family: dense
max_context_tokens: 32768
architecture:
  name: Parrot-9B
  layers: 4
  full_attention: {layers: 4, kv_heads: 2, head_dim: 64}
  query_heads: 8
  hidden_size: 512
  vocab_size: 1000
weights:
  int4_fast: {directory: parrot-9b-int4, format: awq, status: production}
  gguf-q4:
    directory: parrot-9b-gguf
    format: gguf
    files: [mtp-Parrot.gguf, mmproj-F16.gguf, Parrot-Q4.gguf, Parrot-Q8.gguf]
    status: production
  head: {directory: parrot-9b-head, format: safetensors, role: drafter, status: experimental}
default_weights: int4_fast
drafters: [parrot-mtp, parrot-dflash]
"""
DRAFTER = """
id: parrot-mtp
name: Parrot MTP
method: mtp_gguf
models: [parrot-9b]
tokens_default: 3
tokens_max: 4
"""
WORKLOAD = """
id: chatter
name: Chatter
priorities: {}
defaults: {max_num_seqs: 2, drafter: true}
"""
PROFILES = {
    "profiles/models/parrot-9b": MODEL,
    "profiles/drafters/parrot-mtp": DRAFTER,
    "profiles/drafters/parrot-dflash": DRAFTER.replace("mtp_gguf", "dflash").replace("parrot-mtp", "parrot-dflash"),
    "profiles/workloads/chatter": WORKLOAD,
}
ENTRY = "name: a, compose: mine/one, gpus: [0], port: 8010"


def catalogue(steward: str, **more: str) -> dict[str, str]:
    """The catalogue with `mine/one`, whose x-steward has these keys; `more` replaces the profile of a kind."""
    changed = {key: text for key, text in PROFILES.items() if key.split("/")[1] not in more}
    changed |= {f"profiles/{kind}/{_id(text)}": text for kind, text in more.items()}
    return {**CATALOGUE, **changed, "composes/mine/one": f"x-steward: {{{steward}}}\nservices: {{engine: {{}}}}\n"}


def _id(text: str) -> str:
    return text.split("id: ", 1)[1].splitlines()[0]


def parameters(steward: str, entry: str = ENTRY) -> Mapping[str, object]:
    """The parameters of an instance of such a template."""
    return one(entry, catalogue=catalogue(steward)).parameters


def test_what_a_template_serves_fills_its_parameters() -> None:
    """Given a template with a model and a drafter, when it is resolved, then path and speculation come from their profiles."""
    instance = one(ENTRY, catalogue=catalogue("engine: vllm, model: parrot-9b, drafter: parrot-mtp"))
    assert instance.parameters == {"model_path": "parrot-9b-int4", "spec_method": "mtp", "spec_tokens": 3}
    shown = {key: f"{o.value} {o.source} {o.place}" for key, o in instance.origins.items()}
    assert shown["set.model_path"] == "parrot-9b-int4 profile profiles/models/parrot-9b.yml:14:26"
    assert shown["set.spec_method"] == "mtp profile profiles/drafters/parrot-mtp.yml:4:9"
    assert shown["set.spec_tokens"] == "3 profile profiles/drafters/parrot-mtp.yml:6:17"
    assert shown["weights"] == "int4_fast profile profiles/models/parrot-9b.yml:21:18"
    assert shown["drafter"].startswith("parrot-mtp compose composes/mine/one.yml:1:")


def test_the_model_s_file_is_neither_a_drafter_nor_a_projector() -> None:
    """Given GGUF weights of several files, when llama.cpp serves them, then the first that is the model itself is taken."""
    found = parameters("engine: llama, model: parrot-9b, weights: gguf_q4")
    assert found == {"model_path": "parrot-9b-gguf", "model_file": "Parrot-Q4.gguf"}


@pytest.mark.parametrize("written", ["gguf-q4", "gguf_q4"])
def test_weights_are_the_same_with_either_dash(written: str) -> None:
    """Given weights in either spelling, when they are resolved, then they are found and shown in the one spelling."""
    instance = one(ENTRY, catalogue=catalogue(f"engine: llama, model: parrot-9b, weights: {written}"))
    assert instance.origins["weights"].value == "gguf_q4"


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        *(("mtp", "mtp"), ("mtp_assistant", "mtp"), ("mtp_gguf", "mtp")),
        *(("dflash", "dflash"), ("eagle3", "eagle3"), ("ngram", "ngram")),
    ],
)
def test_the_drafter_s_method_is_named_as_engines_do(method: str, expected: str) -> None:
    """Given a drafter, when its method is derived, then the three kinds of MTP are one to the engine."""
    drafter = DRAFTER.replace("mtp_gguf", method)
    found = one(ENTRY, catalogue=catalogue("engine: vllm, model: parrot-9b, drafter: parrot-mtp", drafters=drafter))
    assert found.parameters["spec_method"] == expected


def test_the_template_s_own_default_comes_before_what_follows() -> None:
    """Given a template with defaults of its own, when it is resolved, then they stand, and `set` stands above them."""
    steward = (
        "engine: vllm, model: parrot-9b, drafter: parrot-mtp, "
        "parameters: {model_path: {default: elsewhere}, spec_tokens: {default: 2}}"
    )
    assert parameters(steward) == {"model_path": "elsewhere", "spec_tokens": 2, "spec_method": "mtp"}
    assert parameters(steward, ENTRY + ", set: {spec_tokens: 1}")["spec_tokens"] == 1


def test_what_follows_can_be_set_only_where_the_template_lists_it() -> None:
    """Given a derived parameter, when an entry sets it, then that is an error unless the template opens it."""
    steward = "engine: vllm, model: parrot-9b"
    entry = ENTRY + ", set: {model_path: other}"
    (error,) = errors_of(entry, catalogue=catalogue(steward))
    assert error.startswith("estate[0].set.model_path parameters: template mine/one does not open model_path")
    assert parameters(steward + ", parameters: {model_path: {}}", entry)["model_path"] == "other"


def test_speculation_is_switched_off_as_a_whole() -> None:
    """Given a drafter, when an entry sets spec_method to null, then nothing of it reaches the engine."""
    steward = "engine: vllm, drafter: parrot-mtp, parameters: {model_path: {default: m}, spec_method: {}}"
    assert parameters(steward, ENTRY + ", set: {spec_method: null}") == {"model_path": "m"}


def test_engines_without_a_parameter_get_none() -> None:
    """Given an engine type without models, when its template names a model, then nothing of it is derived."""
    entry = ENTRY + ", image: 'web:1'"
    assert parameters("engine: other, model: parrot-9b, drafter: parrot-mtp", entry) == {}


def test_a_derived_value_keeps_the_template_s_bounds() -> None:
    """Given a bound below what the drafter does, when the template is resolved, then the error names both places."""
    steward = "engine: vllm, model: parrot-9b, drafter: parrot-mtp, parameters: {spec_tokens: {max: 2}}"
    (error,) = errors_of(ENTRY, catalogue=catalogue(steward))
    assert "spec_tokens 3 is above the template's maximum 2; it comes from profiles/drafters/parrot-mtp.yml:6:17" in error


@pytest.mark.parametrize(
    ("steward", "expected"),
    [
        ("model: parot-9b", "x-steward.model compose: there is no model parot-9b | did you mean `parrot-9b`? (used by a)"),
        (
            "model: parrot-9b, drafter: parrot-mpt",
            "x-steward.drafter compose: there is no drafter parrot-mpt | did you mean `parrot-mtp`? (used by a)",
        ),
        ("workload: poems", "x-steward.workload compose: there is no workload poems | the catalogue has: chatter (used by a)"),
        (
            "model: parrot-9b, weights: int4_fats",
            "x-steward.weights compose: model parrot-9b has no weights int4_fats | did you mean `int4_fast`? (used by a)",
        ),
        (
            "model: parrot-9b, weights: head",
            "x-steward.weights compose: weights head are a drafter for parrot-9b, not the model | "
            "it has: gguf-q4, int4_fast (used by a)",
        ),
        (
            "weights: int4_fast",
            "x-steward.weights compose: weights are of a model, and the template names none | "
            "add model: ID, or remove weights (used by a)",
        ),
    ],
)
def test_a_name_that_leads_nowhere(steward: str, expected: str) -> None:
    """Given a template that names what the catalogue lacks, when it is resolved, then the error stands there with a hint."""
    assert errors_of(ENTRY, catalogue=catalogue(f"engine: vllm, {steward}")) == [expected]


def test_a_wrong_profile_is_told_once_with_all_its_users() -> None:
    """Given two templates of one broken model, when both are used, then its problem comes once, with both users."""
    texts = catalogue("engine: vllm, model: parrot-9b", models=MODEL.replace("vocab_size: 1000", "vocab_size: many"))
    texts["composes/mine/two"] = texts["composes/mine/one"].replace("vllm", "llama")
    second = ENTRY.replace("name: a", "name: b").replace("mine/one", "mine/two").replace("8010", "8011").replace("[0]", "[1]")
    found = problems(f"estate: [{{{ENTRY}}}, {{{second}}}]", catalogue=texts)
    assert places(found) == ["profiles/models/parrot-9b.yml:12:15"]
    assert found[0].hint == "used by a, b"


def test_only_what_is_named_is_read() -> None:
    """Given a catalogue with broken profiles that nothing names, when an estate is resolved, then nobody hears of them."""
    texts = catalogue(
        "engine: vllm, parameters: {model_path: {default: m}}", models=MODEL.replace("name: Parrot", "nmae: Parrot")
    )
    assert one(ENTRY, catalogue=texts).model is None


def test_a_broken_hardware_profile_is_a_warning() -> None:
    """Given a card that must be looked up by name, when a hardware profile is broken, then that is a warning at its line."""
    texts = {**CATALOGUE, "profiles/hardware/broken": "id: broken\nname: x\nmemory_gib: 24\n"}
    entry = "name: a, compose: vllm/any, gpus: [0], port: 8010, set: {model_path: m}"
    (warning,) = grave(resolved(f"estate: [{{{entry}}}]", catalogue=texts).problems)
    assert (warning.severity.value, str(warning.place)) == ("warning", "profiles/hardware/broken.yml:1:1")
    assert warning.message == "`compute_capability` is missing"
