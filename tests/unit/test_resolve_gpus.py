"""Cards: how an instance's `gpus` are bound, kept, and told."""

from __future__ import annotations

import pytest

from controller.model.resolved import GpuBinding
from controller.model.rig import RigFacts
from controller.resolve import Surroundings
from tests.unit.resolving import CATALOGUE, NO_CARDS_READ, cards, grave, outcome, problems, resolved, shown


def entry(name: str, port: int, gpus: str, extra: str = "") -> str:
    """A llama.cpp entry on these cards."""
    return f"{{name: {name}, compose: llama/any, gpus: {gpus}, port: {port}, set: {{model_file: a.gguf}}{extra}}}"


def bound(*entries: str, facts: RigFacts, kept: dict[str, GpuBinding] | None = None) -> dict[str, tuple[str, ...] | None]:
    """The cards of each instance."""
    found = resolved(f"estate: [{', '.join(entries)}]", around=Surroundings(facts, kept or {}))
    return {instance.name: instance.binding.uuids if instance.binding else None for instance in found.instances}


def faults(*entries: str, facts: RigFacts, kept: dict[str, GpuBinding] | None = None) -> list[str]:
    """The errors."""
    return shown(problems(f"estate: [{', '.join(entries)}]", around=Surroundings(facts, kept or {})))


def test_indices_and_uuids_are_looked_up_in_the_order_of_the_file() -> None:
    """Given a list of an index and a UUID, when it is bound, then the order is the file's and case does not matter."""
    facts = cards(3)
    assert bound(entry("a", 8010, "[2, gpu-0000]".replace("gpu", "GPU")), facts=facts) == {"a": ("GPU-0002", "GPU-0000")}


def test_the_text_of_a_binding_is_canonical() -> None:
    """Given two spellings of the same gpus, when they are bound, then the text by which a binding is kept is the same."""
    texts = {
        resolved(f"estate: [{entry('a', 8010, gpus)}]", around=Surroundings(cards(2))).instances[0].gpus_text
        for gpus in ("{count: 2, same: false}", "{same: false, count: 2, nvlink: null}", "{count: 2}")
    }
    assert texts == {'{"count":2,"nvlink":null,"same":false}'}


def test_a_binding_is_kept_while_its_text_stays() -> None:
    """Given cards that changed their indices, when the text is the same, then the binding stays; a new text binds anew."""
    kept = {"a": GpuBinding("[0]", ("GPU-0001",))}
    assert bound(entry("a", 8010, "[0]"), facts=cards(2), kept=kept) == {"a": ("GPU-0001",)}
    assert bound(entry("a", 8010, "[1]"), facts=cards(2), kept={"a": GpuBinding("[0]", ("GPU-0007",))}) == {"a": ("GPU-0001",)}


def test_a_kept_card_that_the_rig_lost_is_no_error() -> None:
    """Given a bound card that is gone, when the estate is resolved, then it stays valid: a lost card is no spec fault."""
    kept = {"a": GpuBinding("[1]", ("GPU-0009",))}
    assert bound(entry("a", 8010, "[1]"), facts=cards(1), kept=kept) == {"a": ("GPU-0009",)}


def test_bindings_outlive_unreadable_cards() -> None:
    """Given cards that cannot be read, when some instances were bound before, then those stay bound and others are not."""
    kept = {"a": GpuBinding("[0]", ("GPU-0000",))}
    both = (entry("a", 8010, "[0]"), entry("b", 8011, "{count: 1}"))
    assert bound(*both, facts=NO_CARDS_READ, kept=kept) == {"a": ("GPU-0000",), "b": None}


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ("[2]", "estate[0].gpus[0] E1: the rig has no card 2 | the rig has cards 0 to 1"),
        ("[0, GPU-abcd]", "estate[0].gpus[1] E1: the rig has no card GPU-abcd | the rig has cards 0 to 1"),
        ("[0, 0]", "estate[0].gpus[1] E1: card 0 is listed twice | list each card once"),
        ("[0, GPU-0000]", "estate[0].gpus[1] E1: card GPU-0000 is listed twice | list each card once"),
    ],
)
def test_a_list_that_cannot_be(gpus: str, expected: str) -> None:
    """Given a card that is not there or named twice, when it is bound, then the error stands at the card."""
    assert faults(entry("a", 8010, gpus), facts=cards(2)) == [expected]


def test_a_card_belongs_to_one_running_instance() -> None:
    """Given two instances on a card, when both run, then the second is told of the first; when one is stopped, all is well."""
    both = [entry("a", 8010, "[0]"), entry("b", 8011, "[1, 0]")]
    assert faults(*both, facts=cards(2)) == [
        "estate[1].gpus[1] E1: card 0 is claimed by a too (a at desired/estate.yml:1:46) | "
        "give one of them another card, set state: stopped on one, or share: true on all of them"
    ]
    stopped = entry("b", 8011, "[1, 0]", ", state: stopped")
    assert bound(both[0], stopped, facts=cards(2)) == {"a": ("GPU-0000",), "b": ("GPU-0001", "GPU-0000")}


def test_sharing_needs_all_of_them() -> None:
    """Given instances on one card, when all share it, then it is fine; one that does not share it makes it a clash."""
    shares = [entry(name, port, "[0]", ", share: true") for name, port in (("a", 8010), ("b", 8011))]
    assert bound(*shares, facts=cards(1)) == {"a": ("GPU-0000",), "b": ("GPU-0000",)}
    alone = entry("c", 8012, "[0]")
    assert "card 0 is claimed by a, b too" in faults(*shares, alone, facts=cards(1))[0]


def test_a_part_of_a_card_is_shared_with_those_that_share() -> None:
    """Given a generic tenant that claims some memory, when another instance shares the card, then both fit."""
    web = CATALOGUE["composes/other/web"].replace("readiness", "claim: {vram: 4GiB}\n  readiness")
    tenant = "{name: web, compose: other/web, gpus: [0], port: 8012, image: web:1}"
    catalogue = {**CATALOGUE, "composes/other/web": web}
    shared = outcome(f"estate: [{tenant}, {entry('a', 8010, '[0]', ', share: true')}]", catalogue=catalogue)
    assert not isinstance(shared, tuple)
    assert isinstance(outcome(f"estate: [{tenant}, {entry('a', 8010, '[0]')}]", catalogue=catalogue), tuple)


def test_a_clash_is_seen_by_uuid() -> None:
    """Given a card that an index was bound to before the indices moved, when another names it, then that is a clash."""
    kept = {"a": GpuBinding("[0]", ("GPU-0001",))}
    assert (
        "card 1 is claimed by a too" in faults(entry("a", 8010, "[0]"), entry("b", 8011, "[1]"), facts=cards(2), kept=kept)[0]
    )


def test_a_clash_in_the_file_needs_no_cards() -> None:
    """Given unreadable cards, when two entries name the same one, then that is an error all the same."""
    assert "card 0 is claimed by a too" in faults(entry("a", 8010, "[0]"), entry("b", 8011, "[0]"), facts=NO_CARDS_READ)[0]


def test_a_count_takes_the_first_free_cards_and_keeps_them() -> None:
    """Given counts beside a list, when they are placed, then lists come first, then counts in file order; kept ones stay."""
    entries = (entry("a", 8010, "{count: 1}"), entry("b", 8011, "[0]"), entry("c", 8012, "{count: 2}"))
    assert bound(*entries, facts=cards(4)) == {"a": ("GPU-0001",), "b": ("GPU-0000",), "c": ("GPU-0002", "GPU-0003")}
    text = '{"count":1,"nvlink":null,"same":false}'
    kept = {"a": GpuBinding(text, ("GPU-0003",))}
    assert bound(*entries, facts=cards(4), kept=kept)["c"] == ("GPU-0001", "GPU-0002")


def test_a_count_without_room_is_an_error() -> None:
    """Given more cards asked for than are free, when it is placed, then the error says what the rig has, and a way out."""
    (error,) = faults(entry("a", 8010, "[1]"), entry("b", 8011, "{count: 3}"), facts=cards(3))
    assert error.startswith("estate[1].gpus E1: no 3 free cards: the rig has cards 0 to 2")
    assert "a has card 1" in error


def test_a_stopped_count_waits_without_a_card() -> None:
    """Given a stopped instance that would not fit, when it is resolved, then it is valid and unbound."""
    stopped = entry("b", 8011, "{count: 2}", ", state: stopped")
    assert bound(entry("a", 8010, "[0]"), stopped, facts=cards(2)) == {"a": ("GPU-0000",), "b": None}


def test_nvlink_is_required_or_preferred() -> None:
    """Given pairs of cards, when a count wants NVLink, then it takes whole pairs; preferring falls back to any."""
    facts = cards(4, nvlink=((1, 2),))
    assert bound(entry("a", 8010, "{count: 2, nvlink: require}"), facts=facts) == {"a": ("GPU-0001", "GPU-0002")}
    assert bound(entry("a", 8010, "{count: 2, nvlink: prefer}"), facts=facts) == {"a": ("GPU-0001", "GPU-0002")}
    taken = entry("b", 8011, "[1]")
    assert bound(entry("a", 8010, "{count: 2, nvlink: prefer}"), taken, facts=facts)["a"] == ("GPU-0000", "GPU-0002")
    assert "no 2 free cards in NVLink pairs" in faults(entry("a", 8010, "{count: 2, nvlink: require}"), taken, facts=facts)[0]


def test_same_means_one_model() -> None:
    """Given cards of two models, when a count wants the same, then all its cards are of one model."""
    facts = cards(4, names=("RTX 3090", "RTX 5090", "RTX 3090", "RTX 5090"))
    assert bound(entry("a", 8010, "{count: 2, same: true}"), facts=facts) == {"a": ("GPU-0000", "GPU-0002")}
    assert bound(entry("a", 8010, "{count: 2, same: true}"), entry("b", 8011, "[0]"), facts=facts)["a"] == (
        "GPU-0001",
        "GPU-0003",
    )
    assert "no 3 free cards of one type" in faults(entry("a", 8010, "{count: 3, same: true}"), facts=facts)[0]


def test_no_card_needs_an_engine_that_can() -> None:
    """Given `gpus: []`, when the engine needs a card, then that is an error; an engine with cpu: true is fine."""
    vllm = "{name: a, compose: vllm/any, gpus: [], port: 8010, set: {model_path: m}}"
    assert faults(vllm, facts=cards(1)) == [
        "estate[0].gpus E1: engine vllm needs at least one card | "
        "write gpus: [0], or use an engine whose profile says cpu: true"
    ]
    assert bound(entry("a", 8010, "[]"), facts=cards(0)) == {"a": ()}


def test_parallel_sizes_and_cards_agree() -> None:
    """Given a tensor parallel size, when the number of cards differs, then both numbers are told."""
    vllm = "{name: a, compose: vllm/any, gpus: [0, 1], port: 8010, set: {model_path: m}}"
    assert faults(vllm, facts=cards(2)) == [
        "estate[0].gpus C1: tensor_parallel_size 1 x pipeline_parallel_size 1 = 1, but the instance has 2 cards | "
        "set tensor_parallel_size: 2, or change the number of cards"
    ]
    assert bound(vllm.replace("m}", "m, tensor_parallel_size: 2}"), facts=cards(2)) == {"a": ("GPU-0000", "GPU-0001")}
    refused = faults(vllm.replace("m}", "m, tensor_parallel_size: 17}"), facts=cards(2))
    assert len(refused) == 1, "a size that was refused is not held against the cards as well"


def test_a_template_that_needs_nvlink_stands_on_a_pair() -> None:
    """Given a template that requires NVLink, when its cards are no pair, then E3 names the pairs, and may be waived."""
    text = "x-steward: {engine: llama, requires: {nvlink: true}, parameters: {model_file: {}}}\nservices: {engine: {}}"
    catalogue = {**CATALOGUE, "composes/llama/any": text}
    facts = cards(3, nvlink=((0, 2),))
    estate = f"estate: [{entry('a', 8010, '[0, 1]')}]"
    assert shown(problems(estate, around=Surroundings(facts), catalogue=catalogue)) == [
        "estate[0].gpus E3: the template needs NVLink, but cards 0, 1 are no NVLink pair | the pairs of this rig: 0+2"
    ]
    waiver = ", waive: [{rule: E3, reason: slow is fine, until: 2027-01-01T00:00:00Z}]"
    waived = resolved(f"estate: [{entry('a', 8010, '[0, 1]', waiver)}]", around=Surroundings(facts), catalogue=catalogue)
    assert [(p.severity.value, p.rule) for p in grave(waived.problems)] == [("warning", "E3")]


def test_a_port_belongs_to_one_instance() -> None:
    """Given one port in two entries, when they are resolved, then the second is told where the first is, stopped or not."""
    both = (entry("a", 8010, "[]"), entry("b", 8010, "[]", ", state: stopped"))
    assert faults(*both, facts=cards(0)) == [
        "estate[1].port E4: port 8010 is taken by a (a at desired/estate.yml:1:56) | give each instance a port of its own"
    ]


def test_dependencies_are_checked() -> None:
    """Given depends_on that cannot end, when it is resolved, then every link and every member of a circle is named."""
    found = faults(
        entry("a", 8010, "[]", ", depends_on: [b, nobody]"),
        entry("b", 8011, "[]", ", depends_on: [c]"),
        entry("c", 8012, "[]", ", depends_on: [a, c]"),
        entry("d", 8013, "[]", ", depends_on: [a]"),
        facts=cards(0),
    )
    assert found == [
        "estate[0].depends_on G7: a circle of depends_on: a -> b -> c -> a | remove one of the links between a, b, c",
        "estate[0].depends_on[1] G7: there is no instance nobody | name an instance of this estate",
        "estate[2].depends_on[1] G7: c waits for itself | remove it",
    ]


def test_waiting_for_a_stopped_instance_is_a_warning() -> None:
    """Given a dependency on a stopped instance, when it is resolved, then a warning says what will not happen."""
    found = resolved(
        f"estate: [{entry('a', 8010, '[]', ', state: stopped')}, {entry('b', 8011, '[]', ', depends_on: [a]')}]"
    ).problems
    assert [(p.severity.value, p.message) for p in found] == [("warning", "b waits for a, which is stopped")]
