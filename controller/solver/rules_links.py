"""Cards that have to reach each other: C13, E2 and E3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.problem import Severity
from controller.solver.candidate import Candidate, RigView, TypedCard
from controller.solver.known import cards_of, cards_text, listed, no_cards
from controller.solver.links import in_whole_pairs
from controller.solver.rule import Rule, Said, holds, skipped
from controller.solver.tenant import Finding


def c13_nvlink(me: Candidate, view: RigView) -> Iterator[Said]:
    """C13: a template that needs NVLink has cards that can be linked, on a rig with an active link."""
    if not me.tenant.needs_nvlink:
        yield skipped("the template does not need NVLink")
    elif (why := no_cards(me)) is not None:
        yield skipped(why)
    elif unable := [typed for typed in cards_of(me) if typed.profile is not None and not typed.profile.nvlink]:
        yield _unlinked(me, f"{cards_text(unable)} cannot be linked", "take the template's form without NVLink")
    elif not view.facts.nvlink:
        hint = "mount the bridge and check it with `nvidia-smi nvlink --status`, or take the template's form without NVLink"
        yield _unlinked(me, "no NVLink is active on this rig", hint)
    else:
        yield holds(f"linked pairs: {_pairs(view)}")


def _unlinked(me: Candidate, message: str, hint: str) -> Finding:
    return Finding("C13", me.name, ("gpus",), f"the template needs NVLink, and {message}", hint)


def _pairs(view: RigView) -> str:
    return ", ".join(f"{one}+{two}" for one, two in view.facts.nvlink)


def e2_contiguous(me: Candidate) -> Iterator[Said]:
    """E2: cards of a template that wants them side by side follow each other."""
    if not me.tenant.contiguous:
        yield skipped("the template does not need cards side by side")
    elif (why := no_cards(me)) is not None:
        yield skipped(why)
    else:
        indices = sorted(typed.card.index for typed in cards_of(me))
        if indices == list(range(indices[0], indices[-1] + 1)):
            yield holds(f"{_plain(cards_of(me))} follow each other")
        else:
            message = f"the template needs cards side by side, and {_plain(cards_of(me))} are not"
            yield Finding("E2", me.name, ("gpus",), message, "name cards whose indices follow each other")


def _plain(cards: tuple[TypedCard, ...]) -> str:
    return f"cards {listed(sorted(typed.card.index for typed in cards))}"


def e3_whole_pairs(me: Candidate, view: RigView) -> Iterator[Said]:
    """E3: an instance that needs NVLink stands on whole linked pairs, on a rig that has any."""
    if not me.tenant.needs_nvlink:
        yield skipped("the template does not need NVLink")
    elif (why := no_cards(me)) is not None:
        yield skipped(why)
    elif not view.facts.nvlink:
        yield skipped("no NVLink is active on this rig")
    else:
        given = [typed.card.index for typed in cards_of(me)]
        if in_whole_pairs(given, view.facts.nvlink):
            yield holds(f"linked pairs: {_pairs(view)}")
        else:
            numbers = ", ".join(map(str, given))
            what = f"card {numbers} is" if len(given) == 1 else f"cards {numbers} are"
            message = f"the template needs NVLink, but {what} no NVLink pair"
            yield Finding("E3", me.name, ("gpus",), message, f"the pairs of this rig: {_pairs(view)}")


RULES: Final = (
    Rule(
        "C13",
        "NVLink where the template needs it",
        Severity.ERROR,
        "the template was measured and sized with the link; without it vLLM stops or falls back in silence",
        "a bridge between cards that take one, or the template's form without NVLink",
        in_rig=c13_nvlink,
    ),
    Rule(
        "E2",
        "cards side by side where the template needs them so",
        Severity.ERROR,
        "a template may say `requires: {contiguous: true}`, for cards behind one switch; no other has to care",
        "name cards whose indices follow each other",
        alone=e2_contiguous,
    ),
    Rule(
        "E3",
        "whole NVLink pairs for a template that needs NVLink",
        Severity.ERROR,
        "two cards of different pairs have no link between them",
        "name a pair, or write `gpus: {count: 2, nvlink: require}`",
        in_rig=e3_whole_pairs,
    ),
)
