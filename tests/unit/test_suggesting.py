"""Which templates are suggested for a kind of use, in which order, and why others are not."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from controller.model.profile_measurement import Measurement
from controller.model.profile_workload import WorkloadProfile
from controller.model.reading import Known
from controller.model.rig import RigFacts
from controller.model.snapshot import snapshot_of
from controller.resolve import Surroundings
from controller.resolve.estate_text import entries_yaml
from controller.resolve.measured import Setup, Speed, are_linked, speed_of
from controller.resolve.profiles import Profiles
from controller.resolve.suggesting import STATUSES, Suggestions, instance_name, suggestions
from controller.sources.overlay_files import OverlayFiles
from controller.sources.rig_facts import rig_facts
from tests.unit.cli import Steward
from tests.unit.templates import BOUNDS, CATALOGUE

WORKLOADS: Final = CATALOGUE.ids("profiles/workloads")
RIGS: Final = ("1x:rtx-3090", "2x:rtx-3090")
PROFILES: Final = Profiles(CATALOGUE)


@cache
def facts(rig: str) -> RigFacts:
    """A rig by its grammar."""
    found = rig_facts(rig, CATALOGUE, BOUNDS)
    assert isinstance(found, RigFacts), found
    return found


@cache
def suggested(workload: str, rig: str, model: str | None = None) -> Suggestions:
    """What is suggested out of the built-in catalogue."""
    wanted = PROFILES.get("profiles/workloads", workload, WorkloadProfile)
    assert wanted is not None
    around = Surroundings(facts(rig), payloads=OverlayFiles(snapshot_of(()), BOUNDS).payload)
    return suggestions(wanted.profile, model, PROFILES, around)


@pytest.mark.parametrize("rig", RIGS)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_first_suggestion_is_a_valid_estate_on_the_rig(workload: str, rig: str, steward: Steward) -> None:
    """Given a workload and a rig, when the entry of the first suggestion is saved, then `steward validate` accepts it."""
    steward.write(entries_yaml([suggested(workload, rig).ranked[0].entry]))
    ended = steward("validate", "--rig", rig)
    assert ended.code == 0, ended.out


@pytest.mark.parametrize("rig", RIGS)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_order_is_verdict_context_speed_and_status(workload: str, rig: str) -> None:
    """Given suggestions, when neighbours are compared, then the first difference is one for the better, and none is refused."""
    found = suggested(workload, rig)
    for better, worse in zip(found.ranked, found.ranked[1:], strict=False):
        assert better.rank <= worse.rank
    for one in found.ranked:
        held_up, warnings, context, speed, status, other_use = one.rank
        assert (warnings, context, speed) == (
            len(one.caveats),
            -(one.context or 0),
            -(one.speed.tokens_per_second if one.speed else 0),
        )
        assert STATUSES[int(status)] == one.status
        assert bool(other_use) is not one.made_for_it
        assert bool(held_up) is any(caveat.is_in_the_way for caveat in one.caveats)
    named = {one.template for one in found.ranked}
    assert not named & {refusal.template for refusal in found.refused}
    assert not [name for name in named if name.startswith("historical/")]


def test_a_known_limit_puts_a_template_behind_those_without() -> None:
    """Given an agent with tools on one 24 GB card, when templates are ranked, then llama.cpp is before vLLM."""
    ranked = [one.template for one in suggested("tool-heavy", "1x:rtx-3090").ranked]
    assert ranked[0] == "llamacpp/default"
    limited = next(one for one in suggested("tool-heavy", "1x:rtx-3090").ranked if one.template == "vllm/default")
    assert "G10" in [caveat.rule for caveat in limited.caveats]


def test_what_the_rig_does_not_suit_is_told_with_its_rule() -> None:
    """Given one card, when templates are ranked, then those for two cards are refused with a rule and a reason."""
    refused = {refusal.template: refusal for refusal in suggested("long-ctx-single", "1x:rtx-3090").refused}
    assert refused["vllm/dual"].rule == "E1"
    assert refused["vllm/dual"].text


def test_cards_are_given_in_pairs_where_there_are_some() -> None:
    """Given a rig whose last two cards are linked, when a template for two cards is suggested, then it has those."""
    found = suggested("long-ctx-single", "1x:rtx-3090+2x:rtx-3090:nvlink", "qwen3.6-27b").ranked
    linked = next(one for one in found if one.template == "vllm/dual-nvlink")
    assert linked.cards == (1, 2)
    assert {one.model for one in found} == {"qwen3.6-27b"}


def test_images_and_tools_are_asked_of_the_template() -> None:
    """Given uses that need images or tools, when templates are looked at, then those started without them are left out."""
    seeing = {one.template for one in suggested("vision-coding", "2x:rtx-3090").ranked}
    assert "vllm/long-vision" in seeing
    assert "vllm/long-text" not in seeing
    calling = {one.template for one in suggested("tool-heavy", "2x:rtx-3090").ranked}
    assert "vllm/dual" in calling
    assert "vllm/agents-a1-dual" not in calling


def test_names_are_names_of_instances() -> None:
    """Given ids of models, when an entry is named after one, then the name is one that an instance can have."""
    assert [instance_name(text) for text in ("qwen3.6-27b", "A/B", "...", "x" * 60)] == [
        "qwen3-6-27b",
        "a-b",
        "engine",
        "x" * 39,
    ]


def row(**changed: object) -> Measurement:
    """A measurement."""
    given = {
        "template": "a/b",
        "cards": ("rtx-3090",),
        "context": 1,
        "prose": 50.0,
        "timing": "wall",
        "as_of": "2026-01",
        "source": "L1",
    }
    return Measurement.model_validate({**given, **changed})


SETUP: Final = Setup("a/b", ("rtx-3090",), False, "fp8_e4m3")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], None),
        ([row(template="a/c")], None),
        ([row(cards=("rtx-3090", "rtx-3090"))], None),
        ([row(nvlink=True)], None),
        ([row(kv_format="q8_0")], None),
        ([row(kv_format="fp8_e4m3"), row(prose=60.0, as_of="2026-02")], Speed(60.0, "prose", "wall", "2026-02")),
        ([row(), row(prose=99.0, as_of="2026-03", timing="decode")], Speed(50.0, "prose", "wall", "2026-01")),
        ([row(prose=None, code=70.0, timing="decode")], Speed(70.0, "code", "decode", "2026-01")),
    ],
)
def test_a_speed_is_of_such_a_setup(rows: list[Measurement], expected: Speed | None) -> None:
    """Given measurements, when one is looked for, then it is the newest of the same cards, links and format."""
    assert speed_of(SETUP, rows) == expected


def test_cards_are_linked_when_all_are() -> None:
    """Given three cards of which two are linked, when they are asked for, then only the pair is linked."""
    rig = facts("1x:rtx-3090+2x:rtx-3090:nvlink")
    assert isinstance(rig.cards, Known)
    first, second, third = rig.cards.value
    assert are_linked((second, third), rig)
    assert not are_linked((first, second), rig)
    assert not are_linked((first, second, third), rig)
    assert not are_linked((third,), rig)
