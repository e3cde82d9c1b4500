"""Documents against models: every place gets one understandable problem."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from controller.model.checking import check
from controller.model.compose import STEWARDS_OWN, ComposeFile
from controller.model.desired import Entry, EstateFile, RunState
from controller.model.document import Document
from controller.model.problem import Problem
from controller.model.profile import EngineProfile
from controller.settings import Bounds
from controller.sources.yaml_reader import read_document

ENTRY = "name: chat, compose: vllm/dual, gpus: [0], port: 8010"


def problems_of(model: type[BaseModel], text: str) -> tuple[Problem, ...]:
    """The problems of a YAML text against a model."""
    document = read_document("f.yml", text.encode(), Bounds())
    assert isinstance(document, Document), document
    made, problems = check(model, document)
    assert (made is None) == bool(problems)
    return problems


def only(model: type[BaseModel], text: str) -> Problem:
    """The one problem of a text."""
    (problem,) = problems_of(model, text)
    return problem


def entry_problem(fields: str) -> Problem:
    """The one problem of an entry with these fields more (or instead)."""
    return only(EstateFile, f"estate: [{{{fields}}}]\n")


def test_a_valid_document_becomes_its_model() -> None:
    """Given a valid estate, when checked, then the model is there and no problem."""
    document = read_document("f.yml", f"estate: [{{{ENTRY}, state: stopped}}]\n".encode(), Bounds())
    assert isinstance(document, Document)
    made, problems = check(EstateFile, document)
    assert problems == ()
    assert made is not None
    assert made.estate is not None
    assert made.estate[0].state is RunState.STOPPED


@pytest.mark.parametrize(
    ("fields", "path", "message", "hint"),
    [
        (
            "name: a, compose: c, gpus: [], port: 80:80",
            "port",
            'expected a whole number from 1 to 65535, found the text "80:80"',
            "",
        ),
        (
            "name: a, compose: c, gpus: [], port: '80'",
            "port",
            'expected a whole number from 1 to 65535, found the text "80"',
            "write 80 without quotes",
        ),
        (
            "name: a, compose: c, gpus: [], port: 0644",
            "port",
            'expected a whole number from 1 to 65535, found the text "0644"',
            "write 644, without leading zeros",
        ),
        (
            "name: a, compose: c, gpus: [], port: 99999",
            "port",
            "expected a whole number from 1 to 65535, found the number 99999",
            "",
        ),
        (
            "name: a, compose: c, gpus: [], port: 8e3",
            "port",
            "expected a whole number from 1 to 65535, found the number 8e3",
            "write 8000",
        ),
        (
            "name: a, compose: c, gpus: [], port: 80.5",
            "port",
            "expected a whole number from 1 to 65535, found the number 80.5",
            "",
        ),
        (
            "name: a, compose: c, gpus: [], port: ",
            "port",
            "expected a whole number from 1 to 65535, found nothing",
            "give it a value, or remove the key",
        ),
        (
            "name: a, compose: true, gpus: [], port: 1",
            "compose",
            "expected text that is not empty, found true",
            'quote it: "true"',
        ),
        (
            "name: a, compose: 1.10, gpus: [], port: 1",
            "compose",
            "expected text that is not empty, found the number 1.10",
            'quote it: "1.10"',
        ),
        (
            "name: a, compose: 1e3, gpus: [], port: 1",
            "compose",
            "expected text that is not empty, found the number 1e3",
            'quote it: "1e3"',
        ),
        (
            "name: a, compose: 0o17, gpus: [], port: 1",
            "compose",
            "expected text that is not empty, found the number 0o17",
            'quote it: "0o17"',
        ),
        (f"{ENTRY}, share: yes", "share", 'expected true or false, found the text "yes"', "write true without quotes"),
        (f"{ENTRY}, share: 1", "share", "expected true or false, found the number 1", ""),
        (
            f"{ENTRY}, state: runing",
            "state",
            'expected `running` or `stopped`, found the text "runing"',
            "did you mean `running`?",
        ),
        (f"{ENTRY}, state: on", "state", 'expected `running` or `stopped`, found the text "on"', ""),
        (f"{ENTRY}, networks: ui", "networks", 'expected a list of texts, found the text "ui"', "write a list: [ui]"),
        (f"{ENTRY}, networks: [1]", "networks[0]", "expected text, found the number 1", 'quote it: "1"'),
        (f"{ENTRY}, set: [a]", "set", "expected a mapping of names to values, found a list of 1", ""),
        (
            f"{ENTRY}, drain: {{limit: 5}}",
            "drain.limit",
            "expected a duration such as 250ms, 5s, 10m, 4h or 2d, found the number 5",
            "write it with its unit, such as 250ms, 5s or 10m",
        ),
        (
            f"{ENTRY}, drain: {{limit: 1:59}}",
            "drain.limit",
            'expected a duration such as 250ms, 5s, 10m, 4h or 2d, found the text "1:59"',
            "",
        ),
        (
            f"{ENTRY}, gates: {{tps_min_ratio: 3}}",
            "gates.tps_min_ratio",
            "expected a number from 0 to 1, found the number 3",
            "",
        ),
        (
            f"{ENTRY}, suspend: {{reason: x, until: 2026-01-01}}",
            "suspend.until",
            'expected a time with its zone, such as 2026-12-01T08:00:00Z, found the text "2026-01-01"',
            "",
        ),
    ],
)
def test_values_that_do_not_fit(fields: str, path: str, message: str, hint: str) -> None:
    """Given a value of the wrong kind, when checked, then the problem says what was expected, what stood there, what to do."""
    problem = entry_problem(fields)
    assert (problem.path, problem.message, problem.hint, problem.rule) == (f"estate[0].{path}", message, hint, "schema")


@pytest.mark.parametrize(
    ("gpus", "path", "found"),
    [
        ("x", "", 'the text "x"'),
        ("0", "", "the number 0"),
        ("[-1]", "[0]", "the number -1"),
        ("[0, abc]", "[1]", 'the text "abc"'),
        ("[1.5]", "[0]", "the number 1.5"),
        ("[[0]]", "[0]", "a list of 1"),
        ("{count: 0}", ".count", "the number 0"),
    ],
)
def test_a_union_is_one_problem_at_the_place_that_is_wrong(gpus: str, path: str, found: str) -> None:
    """Given cards written in no valid way, when checked, then one problem points at the wrong part."""
    problem = entry_problem(f"name: a, compose: c, gpus: {gpus}, port: 1")
    assert problem.path == f"estate[0].gpus{path}"
    assert problem.message.endswith(f", found {found}")


def test_a_union_names_all_its_forms() -> None:
    """Given a value that fits no member, when checked, then the message lists what would."""
    assert entry_problem("name: a, compose: c, gpus: x, port: 1").message == (
        'expected a list or a mapping with the key `count`, found the text "x"'
    )
    assert entry_problem("name: a, compose: c, gpus: [abc], port: 1").message == (
        "expected a card's index from 0 to 63 or a card's UUID (GPU-...), found the text \"abc\""
    )


def test_environment_values_are_text_or_a_secret() -> None:
    """Given environment values, when checked, then each wrong one is one problem, also one that would change."""
    text = f"estate: [{{{ENTRY}, env: {{A: [1], B: {{secret: 1}}, C: 1.10, D: yes, E: 5, F: true, G: 0x1F, H: 0.5}}}}]\n"
    problems = {problem.path.rpartition("env.")[2]: problem for problem in problems_of(EstateFile, text)}
    assert sorted(problems) == ["A", "B.secret", "C", "G"]
    assert problems["A"].message.startswith("expected a number, true or false, text or a mapping with the key `secret`")
    assert problems["C"].message == "expected text, found 1.10, which would reach the container as 1.1"
    assert problems["C"].hint == 'quote it: "1.10"'
    assert problems["G"].hint == 'quote it: "0x1F"'


def test_a_value_where_a_secrets_name_belongs_is_not_repeated() -> None:
    """Given a secret itself in place of its name, when checked, then the message does not show it."""
    problem = entry_problem(f"{ENTRY}, env: {{TOKEN: {{secret: hunter2 is my password}}}}")
    assert "hunter2" not in problem.message + problem.hint
    assert "a text of 22 characters" in problem.message


def test_unknown_keys_are_placed_at_the_key_with_a_guess() -> None:
    """Given misspelt keys, when checked, then each is one problem at the key, and what it stands for is not missing too."""
    problems = problems_of(EstateFile, "estate:\n  - name: a\n    compose: c\n    gpu: [0]\n    prot: 80\n    colour: red\n")
    assert [(p.path, p.place and (p.place.line, p.place.column), p.message, p.hint[:24]) for p in problems] == [
        ("estate[0].gpu", (4, 5), "unknown key `gpu`", "did you mean `gpus`?"),
        ("estate[0].prot", (5, 5), "unknown key `prot`", "did you mean `port`?"),
        ("estate[0].colour", (6, 5), "unknown key `colour`", "expected the keys `name`"),
    ]


def test_missing_keys_are_placed_at_their_mapping() -> None:
    """Given an entry without its port, when checked, then the problem stands at the entry and says what to add."""
    problem = only(EstateFile, "estate:\n  - name: a\n    compose: c\n    gpus: []\n")
    assert (problem.path, str(problem.place)) == ("estate[0].port", "f.yml:2:5")
    assert (problem.message, problem.hint) == ("`port` is missing", "add it: a whole number from 1 to 65535")


@pytest.mark.parametrize(("text", "found"), [("[1]", "a list of 1"), ("hello", 'the text "hello"'), ("null", "nothing")])
def test_a_document_of_another_form(text: str, found: str) -> None:
    """Given a file that is no mapping, when checked, then one problem at its beginning says so."""
    problem = only(EstateFile, text)
    assert (str(problem.place), problem.path) == ("f.yml:1:1", "")
    assert problem.message.startswith("expected a mapping with the keys `schema_version`")
    assert problem.message.endswith(f"found {found}")


@pytest.mark.parametrize("key", sorted(STEWARDS_OWN))
def test_service_keys_that_steward_sets_itself(key: str) -> None:
    """Given a template with a key that is not its to set, when checked, then the message says who decides."""
    problem = only(ComposeFile, f"x-steward: {{engine: e}}\nservices:\n  engine:\n    {key}: x\n")
    assert problem.message == f"`{key}` is set by Steward itself"
    assert problem.hint.startswith("remove it; ")
    assert problem.place is not None
    assert (problem.place.line, problem.place.column) == (4, 5)


def test_the_same_words_elsewhere_are_unknown_keys() -> None:
    """Given such a key outside of a service, when checked, then it is an unknown key like any other."""
    assert only(ComposeFile, "x-steward: {engine: e}\nnetworks: {}\n").message == "unknown key `networks`"


def test_templates_with_other_services_and_odd_values() -> None:
    """Given a template with mistakes in unions, when checked, then each place has one problem."""
    text = (
        "x-steward: {engine: e, readiness: {htp: 1}, claim: 8}\n"
        "services:\n  engine: {environment: [1], command: --foo, ulimits: {a: '1', b: {soft: 1}}}\n  web: {}\n"
    )
    problems = {problem.path: problem for problem in problems_of(ComposeFile, text)}
    assert sorted(problems) == [
        "services.engine.command",
        "services.engine.environment[0]",
        "services.engine.ulimits.a",
        "services.engine.ulimits.b.hard",
        "services.web",
        "x-steward.claim",
        "x-steward.readiness.htp",
    ]
    assert problems["services.web"].hint == "a template has exactly one service, named `engine`"
    assert problems["x-steward.claim"].message == "expected `exclusive` or a mapping with the key `vram`, found the number 8"
    assert problems["services.engine.ulimits.a"].hint == "write 1 without quotes"


def test_a_part_of_a_document_keeps_its_places() -> None:
    """Given the second entry alone, when checked at its path, then places and paths are those of the whole document."""
    text = f"estate:\n  - {{{ENTRY}, env: {{A: 1.10}}}}\n  - {{name: b, compose: c, gpus: [], port: x}}\n"
    document = read_document("f.yml", text.encode(), Bounds())
    assert isinstance(document, Document)
    made, (problem,) = check(Entry, document, ("estate", 1))
    assert made is None
    assert (problem.path, str(problem.place)) == ("estate[1].port", "f.yml:3:43")


def test_engine_types_have_spellings_and_guesses() -> None:
    """Given an engine profile, when its type is misspelt, then the nearest one is offered."""
    assert problems_of(EngineProfile, "{id: a, type: llama.cpp, image: null}") == ()
    assert only(EngineProfile, "{id: a, type: vlm, image: null}").hint == "did you mean `vllm`?"


def test_validator_words_never_leak() -> None:
    """Given wrong values of every form, when checked, then no message speaks the validator's language."""
    values = ("x", "1", "1.5", "true", "[1]", "{a: 1}", "", "[]", "{}")
    keys = (
        "name",
        "compose",
        "gpus",
        "port",
        "env",
        "set",
        "waive",
        "suspend",
        "boot",
        "gates",
        "state",
        "depends_on",
        "share",
    )
    for key in keys:
        for value in values:
            text = f"estate: [{{zz: 0, {key}: {value} }}]\nrig: {{mode: {value} }}\n"
            for problem in problems_of(EstateFile, text):
                assert not any(word in problem.message for word in ("Input", "should", "valid ", "Extra", "instance of")), (
                    problem
                )
                assert problem.message[0] in "eu`", problem
