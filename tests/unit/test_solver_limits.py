"""G6, G7 and G10: neighbours and known ceilings."""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller.model.profile_limit import AppliesTo, LimitProfile, Setting, Symptom, Tokens
from controller.model.profile_words import DialectName
from controller.model.verdict import Outcome
from controller.solver import Candidate, RigView
from controller.solver.rules_limits import sees
from tests.unit.judging import (
    TWO,
    UNREAD,
    Case,
    Group,
    candidate,
    cards,
    drafting,
    holds_case,
    llama,
    model,
    overlay,
    rig,
    serving,
)
from tests.unit.profiles import ENGINES, LIMITS, MODELS


def named(name: str, port: int, *names: str, running: bool = True) -> Candidate:
    """An instance that serves these names."""
    return candidate(name=name, port=port, running=running, served_names=names)


G6: Final = Group("G6")
G6.passes("names of their own", rig(named("code", 8011, "code"), named("chat", 8010, "chat")))
G6.edge("a stopped one of the same name", Outcome.HOLDS, rig(named("code", 8011, "a", running=False), named("chat", 8010, "a")))
G6.edge("one that repeats its own name", Outcome.HOLDS, rig(named("chat", 8010, "a", "a")))
G6.fails(
    "one name of two",
    rig(named("code", 8011, "a", "b"), named("chat", 8010, "c", "b")),
    "code serves the name b",
    Outcome.WARNS,
)


def waiting(**needs: tuple[str, ...]) -> RigView:
    """Instances that wait for each other, without cards."""
    return rig(
        *(
            candidate((), name=name, port=8010 + at, engine=llama(), claims={"depends_on": needed})
            for at, (name, needed) in enumerate(needs.items())
        )
    )


G7: Final = Group("G7")
G7.passes("a chain", waiting(chat=("base",), base=()))
G7.edge("two ways to one end", Outcome.HOLDS, waiting(chat=("a", "b"), a=("base",), b=("base",), base=()))
G7.fails("a circle", waiting(chat=("base",), base=("chat",)), "a circle of depends_on: chat -> base -> chat")
G7.fails("oneself", waiting(chat=("chat",)), "chat waits for itself")
G7.fails("nobody", waiting(chat=("chta",)), "there is no instance chta")
G7.fails(
    "one that is stopped",
    rig(
        candidate((), engine=llama(), claims={"depends_on": ("base",)}),
        candidate((), name="base", port=8011, engine=llama(), running=False),
    ),
    "chat waits for base, which is stopped",
    Outcome.WARNS,
)


def limit(**changes: Any) -> LimitProfile:
    """A ceiling of vLLM on one card."""
    plain: dict[str, Any] = {
        "id": "one-card",
        "title": "Dense models on one card run out of memory",
        "applies_to": AppliesTo(engine_types=(DialectName.VLLM,), families=("dense",), tp=1, card_memory_gib_max=24),
        "symptom": Symptom.OUT_OF_MEMORY,
        "accumulated": Tokens(low=21000, high=26000),
        "evidence": ("Seen on one RTX 3090.",),
        "way_out": ("Take two cards.", "Use llama.cpp."),
        "as_of": "2026-05-23",
    }
    return LimitProfile(**{**plain, **changes})


def applied(**what: Any) -> AppliesTo:
    """What a limit is about."""
    return AppliesTo(engine_types=(DialectName.VLLM,), **what)


def long(tokens: int, one: Candidate | None = None, **of: Any) -> RigView:
    """An instance with such a context, and one limit."""
    who = one or serving(parameters={"max_model_len": tokens})
    return rig(who, limits=(limit(**of),))


SETTING: Final[dict[str, Any]] = {"accumulated": None, "max_model_len": Setting(holds=32000, fails=65536)}
G10: Final = Group("G10")
G10.passes("no limit", serving(), "no ceiling is known")
G10.passes("two cards", long(0, serving(TWO, parameters={"max_model_len": 131072})), "no ceiling is known")
G10.passes("a larger card", long(0, serving(cards("rtx-5090"), parameters={"max_model_len": 131072})), "below every ceiling")
G10.passes(
    "an overlay that lifts it", long(0, serving(overlays=(overlay("lift"),)), applies_to=applied(without_overlays=("lift",)))
)
G10.passes("another KV format", long(65536, applies_to=applied(kv_formats=("int8_per_token_head",))))
G10.passes("no drafter", long(65536, applies_to=applied(drafter_methods=("mtp",))))
G10.passes("a model that does not see", long(65536, applies_to=applied(vision=True)))
G10.edge("all that is known to hold", Outcome.HOLDS, long(21000))
G10.edge("one token more", Outcome.WARNS, long(21001))
G10.edge("the largest setting that holds", Outcome.HOLDS, long(32000, **SETTING))
G10.edge("between what holds and what fails", Outcome.WARNS, long(32001, **SETTING))
G10.fails("a long context on one card", long(65536), "it fails at 21000 to 26000 tokens of a conversation", Outcome.WARNS)
G10.fails("the model's own context", long(0, serving()), "max_model_len is 131072", Outcome.WARNS)
G10.fails(
    "a long prompt",
    long(65536, accumulated=None, single_prompt=Tokens(low=50000, high=50000)),
    "it fails at 50000 tokens of one prompt",
    Outcome.WARNS,
)
G10.fails("a drafter of the limit", long(0, drafting(), applies_to=applied(drafter_methods=("mtp",))), "131072", Outcome.WARNS)
G10.fails(
    "a model of the limit",
    long(65536, applies_to=applied(models=("model-27b",)), **SETTING),
    "32000 tokens hold and 65536 do not",
    Outcome.WARNS,
)
G10.fails(
    "a limit of the catalogue",
    rig(
        candidate(
            engine=ENGINES["vllm-stable"],
            model=MODELS["qwen3.6-27b"],
            weights_id="autoround_int4",
            weights=MODELS["qwen3.6-27b"].variant("autoround_int4"),
            parameters={"max_model_len": 180000},
        ),
        limits=tuple(LIMITS.values()),
    ),
    "Qwen3-Next hybrids on one card of 24 GB run out of memory long before their context is full",
    Outcome.WARNS,
)
G10.skips("no model", candidate(), "names no model")
G10.skips("unread cards", long(0, serving(UNREAD, claims={"tensor": 1})), "NVML is not loaded")

CASES: Final = (*G6.cases, *G7.cases, *G10.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given instances, when they are judged, then the rule says what the case says."""
    holds_case(case)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (candidate(engine=llama(), parameters={"mmproj_file": "mmproj.gguf"}), True),
        (candidate(engine=llama()), False),
        (serving(served=model(vision=True)), True),
        (serving(served=model(vision=True), flags=("--language-model-only",)), False),
        (serving(served=model(vision=None)), None),
    ],
)
def test_who_takes_images(one: Candidate, expected: bool | None) -> None:
    """Given an instance, when it is asked whether it takes images, then projector, flag and model decide."""
    assert sees(one) is expected
