"""Estate files joined into one, the older shape, and everything wrong told at once."""

from __future__ import annotations

import pytest

from controller.model.desired import Mode
from controller.model.resolved import Resolved
from controller.resolve import Surroundings, resolve
from tests.unit.resolving import NO_CARDS_READ, TWO_CARDS, Shelf, grave, outcome, places, problems, resolved, shown

CHAT = "{name: chat, compose: llama/any, gpus: [0], port: 8010, set: {model_file: a.gguf}}"
CODE = "{name: code, compose: llama/any, gpus: [1], port: 8011, set: {model_file: b.gguf}}"


def test_an_estate_resolves_in_file_order() -> None:
    """Given two valid entries, when they are resolved, then both are there in order, with the revision."""
    found = resolved(f"estate: [{CODE}, {CHAT}]")
    assert [instance.name for instance in found.instances] == ["code", "chat"]
    assert found.revision == "rev1"
    assert grave(found.problems) == ()


def test_an_empty_list_is_an_estate() -> None:
    """Given `estate: []`, when it is resolved, then it is valid and empty (the mass-change guard is another's)."""
    assert resolved("estate: []").instances == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rig: {name: lab}", "there is no estate key in any file"),
        ("estate:", "estate has no value"),
        ("[1, 2]", "expected keys such as rig and estate at the top of the file"),
    ],
)
def test_a_file_without_instances_by_accident_is_an_error(text: str, expected: str) -> None:
    """Given a file that lost its entries, when it is resolved, then that is an error and not an empty estate."""
    found = problems(text)
    assert expected in [problem.message for problem in found]
    assert all(problem.hint for problem in found)


def test_no_file_at_all_is_an_error() -> None:
    """Given no document, when it is resolved, then there is no estate to be empty."""
    found = resolve([], Shelf(), Surroundings(TWO_CARDS), "rev")
    assert not isinstance(found, Resolved)
    assert found[0].message == "there is no estate file"


def test_files_are_joined() -> None:
    """Given two files, when they are resolved, then entries and allow_prune add up and shared blocks may repeat."""
    found = resolved(
        f"schema_version: 1\nrig: {{name: lab, mode: observe}}\nallow_prune: [x]\nestate: [{CHAT}]",
        f"schema_version: 1\nrig: {{mode: observe, name: lab}}\nallow_prune: [x, y]\nestate: [{CODE}]",
    )
    assert [instance.name for instance in found.instances] == ["chat", "code"]
    assert found.allow_prune == ("x", "y")
    assert (found.rig.name, found.rig.mode) == ("lab", Mode.OBSERVE)


def test_a_shared_block_must_be_the_same_in_every_file() -> None:
    """Given two files with different rigs and defaults, when they are resolved, then each second one is told of the first."""
    found = problems(
        f"rig: {{name: lab}}\ndefaults: {{bind: 0.0.0.0}}\nestate: [{CHAT}]",
        f"rig: {{name: hall}}\ndefaults: {{bind: 127.0.0.1}}\nestate: [{CODE}]",
    )
    assert [problem.message for problem in found] == [
        "rig differs from desired/0.yml:1:1",
        "defaults differs from desired/0.yml:2:1",
    ]
    assert places(found) == ["desired/1.yml:1:1", "desired/1.yml:2:1"]


def test_a_name_twice_names_both_places() -> None:
    """Given one instance name in two files, when they are resolved, then the error holds both places."""
    found = problems(f"estate: [{CHAT}]", f"estate:\n  - {CODE}\n  - {CHAT.replace('8010', '8012')}")
    assert found[0].message == "instance chat is there already, at desired/0.yml:1:17"
    assert places(found)[0] == "desired/1.yml:3:12"


def test_all_problems_of_all_files_come_at_once() -> None:
    """Given mistakes of every stage in two files, when they are resolved, then one report has them all, in order."""
    found = problems(
        "rig: {nmae: lab}\nestate: [{name: a, compose: nowhere, gpus: [0], port: 8010}, {name: B, compose: x, port: 1}]",
        f"estate:\n  - {CHAT.replace('[0]', '[9]')}\n  - {CODE.replace('model_file: b.gguf', 'modelfile: b')}",
    )
    text = shown(found)
    assert any("nmae" in line for line in text)
    assert any("there is no template nowhere" in line for line in text)
    assert any("estate[1].name" in line for line in text)
    assert any("the rig has no card 9" in line for line in text)
    assert any("modelfile" in line and "did you mean model_file?" in line for line in text)
    assert places(found) == sorted(places(found), key=lambda place: (place.split(":")[0], *map(int, place.split(":")[1:])))


def test_a_wrong_entry_is_no_unknown_name_to_others() -> None:
    """Given an entry with a mistake and another that depends on it, when they are resolved, then there is one problem."""
    found = problems(f"estate: [{CHAT.replace('8010', '0')}, {CODE.replace('port', 'depends_on: [chat], port')}]")
    assert [problem.path for problem in found] == ["estate[0].port"]


def test_the_rest_of_a_wrong_entry_is_checked_too() -> None:
    """Given an entry with an unknown key and a wrong block, when it is resolved, then its other mistakes are told as well."""
    found = problems(f"estate: [{CHAT.replace('a.gguf', '/a.gguf').replace('port', 'healht: 1, drain: {x: 1}, port')}]")
    assert [problem.path for problem in found] == ["estate[0].healht", "estate[0].drain.x", "estate[0].set.model_file"]
    hidden = problems(f"estate: [{CHAT.replace('port', 'stat: stopped, port')}, {CODE.replace('[1]', '[0]')}]")
    assert [problem.path for problem in hidden] == ["estate[0].stat"], "what a misspelt key meant is not guessed at"


def test_the_older_shape_is_read() -> None:
    """Given an estate of the older tooling, when it is resolved, then its names mean what they meant."""
    found = resolved(
        """
        schema_version: 1
        created: 2026-05-01
        rig: {hardware_id: dual-3090, gpu_count: 2, nvlink_active: false}
        estate:
          - {name: chat, compose_name: llama/any, gpus: [0], port: 8010, created: x, updated: y, set: {model_file: a.gguf}}
        """
    )
    instance = found.instances[0]
    assert instance.compose == "llama/any"
    assert str(instance.origins["compose"].place) == "desired/estate.yml:6:40"


def test_the_older_name_beside_the_new_one_is_an_error() -> None:
    """Given both names of the template, when it is resolved, then the older one is to go."""
    found = problems(f"estate: [{CHAT.replace('compose:', 'compose_name: y, compose:')}]")
    assert shown(found) == [
        "estate[0].compose_name estate: compose_name is the older name of compose, and both are here | remove compose_name"
    ]


def test_a_mistake_under_the_older_name_is_placed() -> None:
    """Given an unknown template under the older name, when it is resolved, then its place is the value's."""
    found = problems("estate: [{name: a, compose_name: llama/ayn, gpus: [], port: 8010}]")
    assert (places(found), found[0].hint) == (["desired/estate.yml:1:34"], "did you mean `llama/any`?")


def test_rig_values_have_defaults() -> None:
    """Given no rig block, when it is resolved, then boots are staggered on real cards and not on simulated ones."""
    assert resolved("estate: []").rig.stagger == 15.0
    assert resolved("estate: []", around=Surroundings(TWO_CARDS, simulated=True)).rig.stagger == 0.0
    written = "rig: {boot: {stagger: 2s}}\nestate: []"
    assert resolved(written, around=Surroundings(TWO_CARDS, simulated=True)).rig.stagger == 2.0


def test_rig_values_are_checked() -> None:
    """Given rig values of the right type that mean nothing, when they are resolved, then each is placed."""
    found = problems(
        "rig: {name: lab, formerly: [lab], paths: {models: models}, power_limit_w: {default: 280, one: 3, '1': 250}}\n"
        "estate: []"
    )
    assert sorted(problem.path for problem in found) == ["rig.formerly", "rig.paths.models", "rig.power_limit_w.one"]


def test_unreadable_cards_are_told_and_are_no_error() -> None:
    """Given cards that cannot be read, when the estate is resolved, then it is valid, unbound, and says so."""
    found = outcome(f"estate: [{CHAT}, {CODE.replace('[1]', '[]')}]", around=Surroundings(NO_CARDS_READ))
    assert isinstance(found, Resolved)
    assert [(p.severity.value, p.path, p.message) for p in found.problems] == [
        ("info", "estate[0].gpus", "cards not readable, so only what the files say was checked: NVML is not loaded")
    ]
    assert (found.instances[0].bound, found.instances[1].bound) == (False, True)
