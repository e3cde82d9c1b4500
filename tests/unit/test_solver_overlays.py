"""G8 and G12: overlays against each other and against the build."""

from __future__ import annotations

from typing import Final

import pytest

from controller.model.profile_engine import Pin
from controller.model.verdict import Outcome
from tests.unit.judging import TWO, Case, Group, candidate, conflict, holds_case, overlay, vllm

FILE: Final = "/opt/engine/runner.py"
LAID: Final = overlay("laid", target_files=[FILE])
LAID_TOO: Final = overlay("laid-too", target_files=[FILE, "/opt/engine/other.py"])
SCRIPT: Final = overlay("script", mechanism="install_script", target_files=[FILE])
BUNDLE: Final = overlay("bundle", mechanism="patch_bundle", target_files=[FILE])
CURE: Final = overlay("cure", conflicts=[conflict("bundle", "same_symptom", "one lifts the lock, one reserves")])
TEMPLATE: Final = overlay("template", conflicts=[conflict("other-template", "exclusive")])
DRIFTED: Final = overlay("drifted", conflicts=[conflict("vllm-stable", "engine_drift", "three interfaces have changed")])
UNLISTED: Final = overlay("unlisted", conflicts=[conflict("vllm-stable", "pin_allowlist")])

G8: Final = Group("G8")
G8.passes("two that have nothing in common", candidate(overlays=(LAID, TEMPLATE)), "laid and template")
G8.edge("two that write one file in turn", Outcome.HOLDS, candidate(overlays=(SCRIPT, BUNDLE)))
G8.edge("a conflict with one that is not on", Outcome.HOLDS, candidate(overlays=(CURE,)))
G8.edge("a build of one's own", Outcome.HOLDS, candidate(overlays=(DRIFTED,), image="mine:1"))
G8.fails("two that lay one file over", candidate(overlays=(LAID, LAID_TOO)), f"both change {FILE}")
G8.fails("a script that cannot write", candidate(overlays=(SCRIPT, LAID)), "the other cannot change")
G8.fails("two cures of one fault", candidate(overlays=(BUNDLE, CURE)), "treat the same fault in two ways: one lifts the lock")
G8.fails("two that exclude each other", candidate(overlays=(overlay("other-template"), TEMPLATE)), "take each other's place")
G8.fails("made for another build", candidate(overlays=(DRIFTED,)), "three interfaces have changed", Outcome.WARNS)
G8.fails("a build that is not listed", candidate(overlays=(UNLISTED,)), "does not list this build", Outcome.WARNS)
G8.skips("no overlay", candidate(), "no overlay is put on")

HERE: Final = overlay("here", needed_for=["vllm-stable"])
WIDE: Final = overlay("wide", needed_for=["vllm-stable"], min_tp=2)
KNOWN: Final = overlay("known", redundant_for=["vllm-stable"])
CHOSEN: Final = overlay("chosen", mechanism="chat_template", chat_template="/opt/t.jinja", redundant_for=["vllm-stable"])
MERGED: Final = overlay("merged", upstream=["vllm-1", "vllm-2"])
REQUIRING: Final = vllm(required_overlays=("here",))


def containing(*rows: str) -> Pin:
    """A build that has these changes."""
    return Pin(contains=rows)


G12: Final = Group("G12")
G12.passes("what the build needs is on", candidate(engine=REQUIRING, overlays=(HERE,)), "here")
G12.passes("one taken off that this build does not need", candidate(removed_overlays=(LAID,)))
G12.edge("one taken off that is of use from two cards on", Outcome.HOLDS, candidate(removed_overlays=(WIDE,)))
G12.edge("the same on two cards", Outcome.WARNS, candidate(TWO, removed_overlays=(WIDE,)))
G12.edge("a template that the image holds", Outcome.HOLDS, candidate(overlays=(CHOSEN,)))
G12.edge("one of two changes merged", Outcome.HOLDS, candidate(engine=vllm(pin=containing("vllm-1")), overlays=(MERGED,)))
G12.fails("one taken off that the build needs", candidate(removed_overlays=(HERE,)), "overlay here is taken off", Outcome.WARNS)
G12.fails("one that the engine counts on", candidate(engine=REQUIRING), "counts on the overlay here", Outcome.WARNS)
G12.fails("one that the build has", candidate(overlays=(KNOWN,)), "changes nothing on vllm-stable", Outcome.NOTES)
G12.fails(
    "one whose changes are all merged",
    candidate(engine=vllm(pin=containing("vllm-1", "vllm-2")), overlays=(MERGED,)),
    "which has it already",
    Outcome.NOTES,
)
G12.fails("one for more cards", candidate(overlays=(WIDE,)), "from tensor_parallel_size 2 on", Outcome.NOTES)
G12.skips("no overlay", candidate(), "no overlay is put on")

CASES: Final = (*G8.cases, *G12.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given an instance, when it is judged, then the rule says what the case says."""
    holds_case(case)
