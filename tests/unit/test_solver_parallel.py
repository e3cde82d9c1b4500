"""C1 and C2: how a model is divided over cards."""

from __future__ import annotations

from typing import Final

import pytest

from controller.model.profile_architecture import Architecture
from controller.model.verdict import Outcome
from tests.unit.judging import TWO, Case, Group, candidate, cards, holds_case, llama, model, serving

THREE: Final = cards("rtx-3090", "rtx-3090", "rtx-3090")

C1: Final = Group("C1")
C1.passes("two cards for tensor parallel size 2", candidate(TWO), "2 cards")
C1.passes("an engine that does not divide layers", candidate(TWO, engine=llama()))
C1.edge("tensor times pipeline", Outcome.HOLDS, candidate(TWO, claims={"tensor": 1, "pipeline": 2}))
C1.fails("one card too few", candidate(claims={"tensor": 2}), "tensor_parallel_size 2 x pipeline_parallel_size 1 = 2")
C1.fails("one card too many", candidate(THREE, claims={"tensor": 2}), "the instance has 3 cards")
C1.fails("a count that the model cannot be divided by", serving(THREE, claims={"tensor": 2}), "the instance has 3 cards")
C1.fails("less than the template needs", candidate(engine=llama(), claims={"gpus_needed": 2}), "the template needs 2 cards")

C2: Final = Group("C2")
C2.passes("a size of the model's list", serving(TWO), "model-27b takes 1, 2 and 4")
C2.passes("a size that divides the heads of a model without a list", serving(THREE, model(valid_tp=None)))
C2.edge("the largest of the list", Outcome.HOLDS, serving(cards(*["rtx-3090"] * 4)))
C2.edge("one above the largest of the list", Outcome.BROKEN, serving(cards(*["rtx-3090"] * 5)))
C2.fails("a size between two of the list", serving(THREE), "can be divided over 1, 2 or 4 cards only")
C2.fails("a size that does not divide the heads", serving(cards(*["rtx-3090"] * 5), model(valid_tp=None)), "12")
C2.skips("no model", candidate(), "the template names no model")
C2.skips("an engine that does not divide layers", serving(TWO, engine=llama()), "does not divide layers")
C2.skips(
    "a model of unknown heads",
    serving(served=model(valid_tp=None, architecture=Architecture(layers=1, hidden_size=8))),
    "it is not known how model-27b can be divided",
)

CASES: Final = (*C1.cases, *C2.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given an instance, when it is judged, then the rule says what the case says."""
    holds_case(case)


def test_the_hint_names_a_size_that_the_model_has() -> None:
    """Given three cards for a model that takes 1, 2 or 4, when it is judged, then no hint sends its author to 3."""
    found = [f.hint for case in CASES if case.about == "a count that the model cannot be divided by" for f in case.findings]
    assert found == ["give it 1, 2 or 4 cards, with tensor_parallel_size to match: 2 is nearest"]
