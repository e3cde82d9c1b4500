"""C3, C4, C5 and C14: cards, KV formats and weights."""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller.model.profile_model import Blocked, WeightsRole
from controller.model.profile_words import KvFormat, Maturity, WeightFormat
from controller.model.profile_workload import Level, Priorities, WorkloadDefaults, WorkloadProfile
from controller.model.verdict import Outcome
from controller.solver import TypedCard
from controller.solver.kv import SPELLINGS
from controller.solver.rules_formats import suited_kv
from tests.unit.judging import (
    TWO,
    UNREAD,
    Case,
    Group,
    candidate,
    card,
    cards,
    holds_case,
    llama,
    model,
    serving,
    vllm,
    weights,
)

NO_FLOOR: Final = vllm(min_compute_capability=None)
NEW: Final[dict[str, Any]] = {"compute_capability": 9.0}
UNPACKED: Final[dict[str, Any]] = {"compute_capability": 9.0, "fallback_compute_capability": 7.5}

C3: Final = Group("C3")
C3.passes("cards newer than the engine needs", candidate(), "7.5 or newer is needed")
C3.passes(
    "older than the template needs, but not than its fallback",
    candidate(requires=UNPACKED),
    "below 9.0, so the weights are unpacked first",
    Outcome.NOTES,
)
C3.passes("a fallback without a floor", candidate(requires={"fallback_compute_capability": 7.5}), "7.5 or newer")
C3.edge("exactly what the template needs", Outcome.HOLDS, candidate(requires={"compute_capability": 8.6}))
C3.edge("a tenth more than the card has", Outcome.BROKEN, candidate(requires={"compute_capability": 8.7}))
C3.fails("a card older than the engine needs", candidate(cards("tesla-v100-16gb")), "vllm-stable needs compute capability 7.5")
C3.fails("a card older than the template needs", candidate(requires=NEW), "the template needs compute capability 9.0")
C3.fails(
    "one of two cards older than the fallback", candidate(cards("rtx-3090", "tesla-v100-16gb"), requires=UNPACKED), "card 1"
)
C3.skips("no floor", candidate(engine=NO_FLOOR), "neither the engine nor the template")
C3.skips("unread cards", candidate(UNREAD), "NVML is not loaded")
C3.skips("no cards", candidate((), engine=llama(min_compute_capability=6.0)), "the instance has no card")
C3.skips("a card of unknown capability", candidate((card(0, None),)), "compute capability not read: card 0 (Some Card)")


def with_kv(written: str, **changes: Any) -> dict[str, Any]:
    """Parameters with a KV format."""
    return {"parameters": {"kv_cache_dtype": written}, **changes}


C4: Final = Group("C4")
C4.passes("a format of the engine", candidate(**with_kv("fp8_e5m2")))
C4.edge("fp8 is fp8_e4m3", Outcome.HOLDS, candidate(**with_kv("fp8")))
C4.edge("bfloat16 is bf16", Outcome.HOLDS, candidate(engine=llama(), **with_kv("bfloat16")))
C4.fails("a format of another type of engine", candidate(**with_kv("q8_0")), "vllm-stable has no KV format q8_0")
C4.fails("a word that is no format", candidate(**with_kv("int3")), "vllm-stable has no KV format int3")
C4.fails(
    "a format that the profile of another image lacks",
    candidate(image="vllm/vllm-openai:v0.40.0", **with_kv("q8_0")),
    "that is known of vllm/vllm-openai:v0.27.1, and this instance runs vllm/vllm-openai:v0.40.0",
    Outcome.WARNS,
)
C4.fails(
    "a parameter that the template does not open", candidate(open_parameters=frozenset(), **with_kv("q8_0")), "no KV format"
)
C4.skips("the model's own format", candidate(**with_kv("auto")), "the model's own format")
C4.skips("nothing said", candidate(), "the model's own format")
C4.skips(
    "an engine of unknown formats", candidate(engine=vllm(kv_formats=None), **with_kv("bf16")), "not known which KV formats"
)

HYBRID: Final = model(family="qwen3-next-hybrid")
SHUT: Final[frozenset[str]] = frozenset()
C5: Final = Group("C5")
C5.passes("a format of the card", candidate(**with_kv("fp8_e5m2")))
C5.passes(
    "fp8_e4m3 on Ampere for a model that decides on the backend",
    serving(served=HYBRID, **with_kv("fp8_e4m3")),
    "the attention backend converts it",
    Outcome.NOTES,
)
C5.passes("fp8_e4m3 on Ampere with 16-bit weights", serving(chosen="bf16", **with_kv("fp8")), "converts", Outcome.NOTES)
C5.edge("the first capability that converts", Outcome.NOTES, serving(cards("rtx-3080"), HYBRID, **with_kv("fp8")))
C5.edge("just below it", Outcome.BROKEN, serving(cards("a100-40gb"), HYBRID, **with_kv("fp8")))
C5.fails("fp8_e4m3 on Ampere with packed weights", serving(**with_kv("fp8_e4m3")), "cannot work with fp8_e4m3 KV")
C5.fails("one of two cards", serving(cards("rtx-5090", "rtx-3090"), **with_kv("fp8_e4m3")), "card 1 (NVIDIA GeForce RTX 3090)")
C5.fails(
    "nothing chosen where the template leaves it open",
    candidate(),
    "fp8_e5m2 would suit balanced use on these cards",
    Outcome.NOTES,
)
C5.skips("nothing chosen and nothing open", candidate(open_parameters=SHUT), "the model's own format")
C5.skips("the model's own format on purpose", candidate(**with_kv("auto")), "the model's own format")
C5.skips("a word that is no format", candidate(**with_kv("int3")), "int3 is no format that the catalogue knows")
C5.skips("unread cards", candidate(UNREAD, **with_kv("bf16")), "NVML is not loaded")
C5.skips(
    "a card that no profile describes", candidate((card(0, None),), **with_kv("bf16")), "no hardware profile describes card 0"
)

HELD: Final = weights(blocked=Blocked(capabilities=(8.0, 8.6), reason="an expert is 704 wide"), status=Maturity.EXPERIMENTAL)
MIXED: Final = model(
    weights={"mixed": HELD, "int4": weights(), "bf16": weights(format=WeightFormat.BF16)}, default_weights="int4"
)
OF_A_DRAFTER: Final = model(weights={"head": weights(role=WeightsRole.DRAFTER)}, default_weights=None)
C14: Final = Group("C14")
C14.passes("weights that the engine loads", serving(), "int4: autoround, production")
C14.passes("experimental weights", serving(served=MIXED, on=cards("rtx-4090"), chosen="mixed"), "experimental", Outcome.NOTES)
C14.edge("a card beside those that are blocked", Outcome.NOTES, serving(cards("rtx-5090"), MIXED, "mixed"))
C14.fails("weights that are blocked on the card", serving(served=MIXED, chosen="mixed"), "an expert is 704 wide")
C14.fails("weights that the model does not have", serving(chosen="int5"), "model-27b has no weights int5")
C14.fails("weights of a drafter", serving(served=OF_A_DRAFTER, chosen="head"), "are a drafter, not the model")
C14.fails("a format that the engine does not load", serving(engine=llama()), "they are autoround")
C14.fails(
    "weights of older estates",
    serving(served=model(weights={"int4": weights(status=Maturity.HISTORICAL)})),
    "kept for older estates only",
    Outcome.WARNS,
)
C14.skips("no model", candidate(), "the template names no model")
C14.skips("a model without weights", candidate(model=model(weights={}, default_weights=None)), "no weights on record")
C14.skips("blocked somewhere, on unread cards", serving(UNREAD, MIXED, "mixed"), "some cards cannot load them")
C14.skips("an engine of unknown formats", serving(engine=vllm(weight_formats=None)), "not known which formats")

CASES: Final = (*C3.cases, *C4.cases, *C5.cases, *C14.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given an instance, when it is judged, then the rule says what the case says."""
    holds_case(case)


def test_every_format_spells_itself() -> None:
    """Given the table of spellings, when it is read, then each format is there under its own name too."""
    assert {name for name, meant in SPELLINGS.items() if name == meant.value} == {member.value for member in KvFormat}


@pytest.mark.parametrize(
    ("context", "concurrency", "on", "best"),
    [
        (None, None, TWO, KvFormat.FP8_E5M2),
        (None, Level.HIGH, cards("rtx-5090"), KvFormat.FP8_E4M3),
        (Level.HIGH, None, cards("rtx-5090"), KvFormat.FP8_E4M3),
        (Level.HIGH, None, cards("rtx-5090", "rtx-3090"), KvFormat.FP8_E5M2),
        (Level.HIGH, None, TWO, KvFormat.FP8_E5M2),
        (None, None, (card(0, None),), None),
    ],
)
def test_a_format_that_suits(
    context: Level | None, concurrency: Level | None, on: tuple[TypedCard, ...], best: KvFormat | None
) -> None:
    """Given cards and a kind of use, when nothing is chosen, then the cards' own choice is named, or one that all have."""
    use = WorkloadProfile(
        id="use",
        name="Use",
        priorities=Priorities(max_context=context, concurrency=concurrency),
        defaults=WorkloadDefaults(max_num_seqs=1, drafter=False),
    )
    assert suited_kv(candidate(on, workload=use)) == best


def test_other_weights_are_offered() -> None:
    """Given weights that are blocked on the card, when it is judged, then the hint names proven ones that are not."""
    hints = [f.hint for case in CASES if case.about == "weights that are blocked on the card" for f in case.findings]
    assert hints == ["take a template with weights int4 or bf16"]
