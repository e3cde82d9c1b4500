"""C6 to C10, and C15: what an engine build can do."""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller.model.profile_words import DialectName, DrafterMethod, KvFormat
from controller.model.profile_workload import Priorities, WorkloadDefaults, WorkloadProfile
from controller.model.verdict import Outcome
from tests.unit.judging import (
    Case,
    Group,
    candidate,
    conflict,
    drafter,
    drafting,
    holds_case,
    llama,
    model,
    overlay,
    serving,
    vllm,
)

BUNDLE: Final = overlay("genesis", mechanism="patch_bundle")
STAND_IN: Final = overlay("reserve", conflicts=[conflict("genesis", "same_symptom")])
THREE_BITS: Final[dict[str, Any]] = {"parameters": {"kv_cache_dtype": "turboquant_3bit_nc"}}
NEEDING: Final = model(patch_bundle_kv_formats=(KvFormat.TURBOQUANT_3BIT_NC,))
PATCHED: Final = vllm(
    id="vllm-nightly",
    channel="nightly",
    kv_formats=(KvFormat.TURBOQUANT_3BIT_NC, KvFormat.FP8_E5M2),
    features={"turboquant_3bit_nc": True, "tool_parser": False, "later": "stable_only"},
    feature_origin={"turboquant_3bit_nc": "genesis"},
)

C6: Final = Group("C6")
C6.passes("a model that does without", serving(), "model-27b does without it here")
C6.passes("the bundle put on", serving(served=NEEDING, engine=PATCHED, overlays=(BUNDLE,), **THREE_BITS), "it is put on")
C6.edge("another KV format of the same model", Outcome.HOLDS, serving(served=NEEDING, engine=PATCHED))
C6.fails(
    "the KV format without the bundle", serving(served=NEEDING, engine=PATCHED, **THREE_BITS), "turboquant_3bit_nc KV only when"
)
C6.fails("a model that never does without", serving(served=model(patch_bundle_required=True)), "with the patch bundle only")
C6.fails(
    "an overlay that stands in for the bundle",
    serving(served=NEEDING, engine=PATCHED, overlays=(STAND_IN,), **THREE_BITS),
    "here reserve stands in for it",
    Outcome.WARNS,
)
C6.skips("another type of engine", serving(engine=llama()), "only vLLM has a patch bundle")
C6.skips("no model", candidate(), "names no model")

C7: Final = Group("C7")
C7.passes("a method of the engine", drafting(), "vllm-stable has mtp")
C7.passes("a word that stands for several methods", candidate(engine=llama(), parameters={"spec_method": "mtp"}), "mtp_gguf")
C7.edge("the older word for an MTP head", Outcome.HOLDS, candidate(parameters={"spec_method": "qwen3_next_mtp"}))
C7.fails(
    "a method that the engine lacks", drafting(engine=vllm(drafter_methods=(DrafterMethod.EAGLE3,))), "vllm-stable has eagle3"
)
C7.fails("an engine without drafting", drafting(engine=vllm(drafter_methods=())), "vllm-stable promises no drafting")
C7.fails("a method without a drafter", candidate(parameters={"spec_method": "eagle3"}), "spec_method eagle3 needs eagle3")
C7.fails(
    "a method that the profile of another image lacks",
    drafting(engine=vllm(drafter_methods=()), image="vllm/vllm-openai:v0.40.0"),
    "this instance runs vllm/vllm-openai:v0.40.0",
    Outcome.WARNS,
)
C7.skips("no drafter", serving(), "no drafter is used")
C7.skips("a drafter that is not put to use", serving(drafter=drafter()), "no drafter is used")
C7.skips("an engine of unknown methods", drafting(engine=vllm(drafter_methods=None)), "not known which drafting methods")
C7.skips("an unknown word", candidate(parameters={"spec_method": "suffix"}), "suffix is no method that the catalogue knows")

C8: Final = Group("C8")
C8.passes("the model's own drafter", drafting(), "model-mtp is made for model-27b")
C8.edge("one of several models", Outcome.HOLDS, drafting(by=drafter(models=("other", "model-27b"))))
C8.fails("a drafter of another model", drafting(by=drafter(id="other-mtp", models=("model-8b",))), "is made for model-8b")
C8.fails(
    "for a model without drafters", drafting(by=drafter(models=("model-8b",)), served=model(drafters=())), "not for model-27b"
)
C8.skips("no drafter", serving(), "no drafter is used")
C8.skips("no model", candidate(drafter=drafter(), parameters={"spec_method": "mtp"}), "names no model")

C9: Final = Group("C9")
C9.passes("a drafter of no type", drafting(), "is bound to no type of engine")
C9.edge("a GGUF drafter on llama.cpp", Outcome.HOLDS, drafting(by=drafter(engine_type=DialectName.LLAMACPP), engine=llama()))
C9.fails("a GGUF drafter on vLLM", drafting(by=drafter(engine_type=DialectName.LLAMACPP)), "runs on llamacpp only")
C9.skips("no drafter", serving(), "no drafter is used")

C10: Final = Group("C10")
C10.passes("a family of the engine", serving(), "vllm-stable serves dense")
C10.edge("an engine that serves any", Outcome.HOLDS, serving(served=model(family="new"), engine=llama()))
C10.fails(
    "another family",
    serving(served=model(family="mamba")),
    "serves dense and qwen3-next-hybrid, and model-27b is of the family mamba",
)
C10.fails(
    "a family that the profile of another image lacks",
    serving(served=model(family="mamba"), image="vllm/vllm-openai:v0.40.0"),
    "that is known of vllm/vllm-openai:v0.27.1",
    Outcome.WARNS,
)
C10.skips("no model", candidate(), "names no model")
C10.skips("an engine of unknown families", serving(engine=vllm(families=None)), "not known which families")


def needing(*features: str) -> dict[str, Any]:
    """What a template needs."""
    return {"features": list(features)}


USE: Final = WorkloadProfile(
    id="use",
    name="Use",
    priorities=Priorities(),
    defaults=WorkloadDefaults(max_num_seqs=1, drafter=False),
    required_features=("tool_parser",),
)
C15: Final = Group("C15")
C15.passes("a feature from an overlay", candidate(engine=PATCHED, overlays=(BUNDLE,), requires=needing("turboquant_3bit_nc")))
C15.edge(
    "promised for releases, in a release",
    Outcome.HOLDS,
    candidate(engine=vllm(features={"later": "stable_only"}), requires=needing("later")),
)
C15.edge("promised for releases, in a nightly build", Outcome.BROKEN, candidate(engine=PATCHED, requires=needing("later")))
C15.fails("a feature that is not there", candidate(engine=PATCHED, requires=needing("tool_parser")), "does not have")
C15.fails("a feature that nobody knows", candidate(requires=needing("teleport")), "teleport, which vllm-stable does not have")
C15.fails("a feature of the workload", candidate(engine=PATCHED, workload=USE), "needs tool_parser")
C15.passes(
    "a feature whose overlay is not on",
    candidate(engine=PATCHED, requires=needing("turboquant_3bit_nc")),
    "on record with genesis, which is not put on here",
    Outcome.NOTES,
)
C15.skips("nothing needed", candidate(), "no feature is needed")

CASES: Final = (*C6.cases, *C7.cases, *C8.cases, *C9.cases, *C10.cases, *C15.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given an instance, when it is judged, then the rule says what the case says."""
    holds_case(case)
