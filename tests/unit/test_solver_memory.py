"""C11 and C12: what has to fit."""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller.model.profile import EngineProfile
from controller.model.profile_words import DialectName
from controller.model.verdict import Outcome
from controller.solver import Candidate
from controller.solver.rules_memory import NOT_PROJECTED
from tests.unit.judging import (
    GIB,
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
    rig,
    serving,
    vllm,
    weights,
)


def context(tokens: int) -> dict[str, Any]:
    """Parameters with a context."""
    return {"parameters": {"max_model_len": tokens}}


C11: Final = Group("C11")
C11.passes("less than the model takes", serving(**context(65536)), "65536 of 131072 tokens")
C11.edge("all that the model takes", Outcome.HOLDS, serving(**context(131072)))
C11.edge("one more than the model takes", Outcome.BROKEN, serving(**context(131073)))
C11.fails("twice what the model takes", serving(**context(262144)), "max_model_len 262144 is more than model-27b takes: 131072")
C11.skips("nothing said", serving(), "so the engine takes the model's own 131072")
C11.skips("no model", candidate(**context(4096)), "names no model")
C11.skips("a model of unknown context", serving(served=model(max_context_tokens=None), **context(4096)), "not known how long")


def share(value: float, **changes: Any) -> dict[str, Any]:
    """Parameters with a share of the card's memory."""
    return {"parameters": {"gpu_memory_utilization": value}, **changes}


def held(mib: int) -> dict[str, Any]:
    """Memory of a card that others hold."""
    return {"foreign_bytes": mib * 2**20}


GENERIC: Final = EngineProfile(id="generic", type=DialectName.GENERIC, image=None, cpu=True)
LARGE: Final[dict[str, Any]] = {"min_vram_gib": 24}
SHARED: Final[dict[str, Any]] = {"exclusive": False}


def neighbours(one: float, two: float, *, running: bool = True) -> tuple[Candidate, Candidate]:
    """Two instances that share a card."""
    first = candidate(claims=SHARED, **share(one))
    return first, candidate(name="embed", port=8011, running=running, claims=SHARED, **share(two))


C12: Final = Group("C12")
C12.passes("a card as large as needed", candidate(requires={"min_vram_gib": 24}), NOT_PROJECTED, Outcome.NOTES)
C12.passes("a tenant of which nothing is known", candidate(engine=GENERIC), "nothing is known of what it needs")
C12.passes("a share that others leave", candidate((card(0, **held(1000)),), **share(0.92)), NOT_PROJECTED, Outcome.NOTES)
C12.edge(
    "others hold what such cards may lack", Outcome.NOTES, candidate((card(0, **held(1900)),), engine=llama(), requires=LARGE)
)
C12.edge("others hold a little more", Outcome.BROKEN, candidate((card(0, **held(2100)),), engine=llama(), requires=LARGE))
C12.edge("weights that just fit", Outcome.NOTES, serving(served=model(weights={"int4": weights(size_gb=23.2)}), **share(0.92)))
C12.edge(
    "weights that just do not", Outcome.BROKEN, serving(served=model(weights={"int4": weights(size_gb=23.3)}), **share(0.92))
)
C12.edge("two that leave a twentieth", Outcome.NOTES, rig(*neighbours(0.5, 0.44)))
C12.fails("a card too small for the template", candidate(cards("rtx-4080"), requires={"min_vram_gib": 24}), "has 16 GiB")
C12.fails(
    "the second card too small",
    candidate(cards("rtx-3090", "rtx-4080"), requires={"min_vram_gib": 24}),
    "card 1 (NVIDIA GeForce RTX 4080)",
)
C12.fails(
    "a card that others use", candidate((card(0, **held(4096)),), engine=llama(), requires=LARGE), "others leave 19.56 GiB"
)
C12.fails("a share that others do not leave", candidate((card(0, **held(9000)),), **share(0.92)), "asks for 21.68 GiB")
C12.fails("the share of an older release", candidate((card(0, **held(2048)),), image="vllm/vllm-openai:v0.20.0"), "0.92 asks")
C12.fails("weights alone too large", serving(chosen="bf16", on=TWO), "weights bf16 alone take 25.15 GiB on each of 2 cards")
C12.fails("a generic tenant that wants too much", candidate(engine=GENERIC, vram_claim_bytes=30 * GIB), "claims 30 GiB")
C12.fails(
    "two that leave less than a twentieth",
    rig(*neighbours(0.5, 0.46)),
    "shared with embed, and together they take 22.62 GiB of 23.56 GiB",
    Outcome.WARNS,
)
C12.skips("unread cards", candidate(UNREAD), "NVML is not loaded")
C12.skips("no card", candidate((), engine=llama()), "the instance has no card")

CASES: Final = (*C11.cases, *C12.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given an instance, when it is judged, then the rule says what the case says."""
    holds_case(case)


def test_weights_in_host_memory_do_not_count() -> None:
    """Given weights too large for the card, when a flag moves some of them to the host, then the card is large enough."""
    moved = serving(chosen="bf16", on=TWO, flags=("--cpu-offload-gb", "8"))
    assert Case("C12", "", "", Outcome.NOTES, rig(moved)).findings[0].message == NOT_PROJECTED


@pytest.mark.parametrize(
    ("image", "fits"),
    [("vllm/vllm-openai:v0.15.0", True), ("vllm/vllm-openai:v0.20.0", False), ("vllm/vllm-openai:nightly", False)],
)
def test_the_default_share_is_that_of_the_version(image: str, fits: bool) -> None:
    """Given a card that others hold a tenth of, when no share is set, then the default of the release decides."""
    lone = candidate((card(0, foreign_bytes=int(2.2 * GIB)),), image=image, engine=vllm(image=image, version=None))
    assert (Case("C12", "", "", Outcome.NOTES, rig(lone)).findings[0].message == NOT_PROJECTED) is fits
