"""What holds for every estate: resolving ends, is deterministic, keeps bindings, and never claims a card twice."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.model.compose import Service
from controller.model.desired import Entry
from controller.model.document import Document, Plain
from controller.model.problem import has_errors, in_report_order
from controller.model.resolved import GpuBinding, Resolved
from controller.resolve import Surroundings, resolve
from controller.resolve.render import render
from tests.unit.resolving import CATALOGUE, NO_CARDS_READ, Shelf, cards

ENTRY_KEYS = (*Entry.model_fields, "compose_name", "x")
WORDS = (
    "a",
    "b",
    "llama/any",
    "vllm/any",
    "other/web",
    "running",
    "stopped",
    "web:1",
    "5s",
    "127.0.0.1",
    "$",
    "-x",
    "a.gguf",
    "",
)
NAMES = (
    "model_file",
    "max_model_len",
    "extra_args",
    "secret",
    "count",
    "nvlink",
    "same",
    "interval",
    "reason",
    "until",
    "rule",
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 70000), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(WORDS)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)),
    max_leaves=6,
)
ENTRIES = st.dictionaries(st.sampled_from(ENTRY_KEYS), VALUES, max_size=8)
ESTATES = st.dictionaries(
    st.sampled_from(("estate", "rig", "defaults", "allow_prune", "schema_version", "created", "y")),
    st.one_of(VALUES, st.lists(st.one_of(ENTRIES, VALUES), max_size=3)),
    max_size=5,
)
TEMPLATE_KEYS = (*Service.model_fields, "env_file", "extends", "ports", "y")


@given(ESTATES)
def test_any_data_is_resolved_or_refused_with_a_place(data: dict[str, Any]) -> None:
    """Given any data in an estate file, when it is resolved, then the answer is an estate or placed errors, never a crash."""
    found = resolve([Document("estate.yml", data, "")], Shelf(), Surroundings(cards(2)), "r")
    if isinstance(found, Resolved):
        assert not has_errors(found.problems)
    else:
        assert has_errors(found)
        assert all(problem.place is not None and problem.message for problem in found)
        assert found == in_report_order(found)


@given(st.dictionaries(st.sampled_from(TEMPLATE_KEYS), VALUES, max_size=6), VALUES)
def test_any_data_in_a_template_is_used_or_refused(service: dict[str, Any], steward: Any) -> None:
    """Given any data in a template, when an instance uses it, then the answer is an estate or errors, never a crash."""
    block = {"engine": "llama", "parameters": {"model_file": {"default": "m"}}}
    for chosen in (block, steward):
        text = json.dumps({"x-steward": chosen, "services": {"engine": service}})
        catalogue = Shelf({**CATALOGUE, "composes/llama/any": text})
        entry: dict[str, Plain] = {"name": "a", "compose": "llama/any", "gpus": [], "port": 8010}
        found = resolve([Document("estate.yml", {"estate": [entry]}, "")], catalogue, Surroundings(cards(1)), "r")
        if isinstance(found, Resolved):
            assert render(found.instances[0], found.rig)


GPUS = st.one_of(
    st.lists(st.integers(0, 3), unique=True, max_size=3),
    st.builds(lambda count, same: {"count": count, "same": same}, st.integers(1, 3), st.booleans()),
)
PLANS = st.lists(st.tuples(GPUS, st.booleans(), st.booleans()), min_size=1, max_size=5)


def estate_of(plans: list[tuple[Any, bool, bool]]) -> list[Plain]:
    """Valid entries with these cards, running or not, sharing or not."""
    return [
        {
            "name": f"i{number}",
            "compose": "llama/any",
            "gpus": gpus,
            "port": 8000 + number,
            "state": "running" if running else "stopped",
            "share": share,
            "set": {"model_file": f"{number}.gguf"},
        }
        for number, (gpus, running, share) in enumerate(plans)
    ]


def of(entries: list[Plain], around: Surroundings) -> Resolved | tuple[Any, ...]:
    """What becomes of these entries."""
    return resolve([Document("estate.yml", {"estate": entries}, "")], Shelf(), around, "r")


@given(PLANS)
def test_an_accepted_estate_gives_a_card_to_one_exclusive_instance(plans: list[tuple[Any, bool, bool]]) -> None:
    """Given any claims, when the estate is accepted, then no exclusive running instance stands on a card with another."""
    found = of(estate_of(plans), Surroundings(cards(4)))
    if not isinstance(found, Resolved):
        return
    running = [instance for instance in found.instances if instance.state.value == "running"]
    users = Counter(uuid for instance in running for uuid in instance.spec.gpus)
    for instance in running:
        assert instance.binding is not None
        assert instance.exclusive is False or all(users[uuid] == 1 for uuid in instance.spec.gpus)


@given(PLANS)
def test_resolving_again_keeps_every_binding_and_hash(plans: list[tuple[Any, bool, bool]]) -> None:
    """Given an accepted estate, when it is resolved with its own bindings on shuffled or unread cards, then nothing moves."""
    first = of(estate_of(plans), Surroundings(cards(4)))
    if not isinstance(first, Resolved):
        return
    kept: dict[str, GpuBinding] = {i.name: i.binding for i in first.instances if i.binding}
    for facts in (cards(4), cards(0), NO_CARDS_READ):
        again = of(estate_of(plans), Surroundings(facts, kept))
        assert isinstance(again, Resolved)
        assert [i.spec_hash for i in again.instances if i.name in kept] == [
            i.spec_hash for i in first.instances if i.name in kept
        ]


@given(PLANS, st.randoms(use_true_random=False))
def test_the_order_of_entries_moves_no_list_of_cards(plans: list[tuple[Any, bool, bool]], random: Any) -> None:
    """Given claims by list, when the entries are shuffled, then validity and every hash stay the same."""
    entries = estate_of([(gpus if isinstance(gpus, list) else [], running, share) for gpus, running, share in plans])
    first = of(entries, Surroundings(cards(4)))
    random.shuffle(entries)
    other = of(entries, Surroundings(cards(4)))
    assert isinstance(first, Resolved) == isinstance(other, Resolved)
    if isinstance(first, Resolved) and isinstance(other, Resolved):
        assert {i.name: i.spec_hash for i in first.instances} == {i.name: i.spec_hash for i in other.instances}
