"""The `simulation:` block of a rig file: what it may say, and where its mistakes are shown."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import pytest

from controller.model.checking import check
from controller.model.document import Document
from controller.model.problem import Problem
from controller.settings import Bounds
from controller.simulation.card_changes import CardChange, Foreign
from controller.simulation.engine.script import Change, Line, Script
from controller.simulation.engine.script_fields import BOUNDS, WORDS
from controller.simulation.mirror import key_of
from controller.simulation.script_file import CARD, ENGINE, Simulation, simulation_of
from controller.sources.rig_file import RigFile
from controller.sources.yaml_reader import read_document

CARDS = "gpus: [{profile: rtx-3090}, {profile: rtx-3090}]\n"
WHOLE = """\
simulation:
  engines:
    chat: {load: 4s, tps: 45, requests: 1, changes: [{after: 60s, hang: true}, {after: 1.5m, hang: false, health: null}]}
    "*": {load: 250ms, log: [{text: loading, after: 100ms}, {text: oh, stderr: true}]}
  cards:
    - {after: 30s, card: 1, foreign: {mib: 9000, process: python3}}
    - {after: 60s, card: 0, lost: true, xid: 79}
    - {after: 90s, order: [1, 0]}
    - {after: 150s, card: 0, power_limit_w: 350}
    - {after: 0s, unreadable: driver not loaded}
    - {after: 10s, unreadable: ""}
"""


def document(text: str) -> Document:
    """A rig file of two cards with this text."""
    found = read_document("rig.yml", (CARDS + text).encode(), Bounds())
    assert isinstance(found, Document), found
    return found


def simulation(text: str) -> Simulation:
    """The simulation of a text that must be right."""
    found = simulation_of(document(text))
    assert isinstance(found, Simulation), found
    return found


def problems(text: str) -> tuple[Problem, ...]:
    """The problems of a text that must be wrong."""
    found = simulation_of(document(text))
    assert isinstance(found, tuple), found
    return found


def engine(text: str) -> str:
    """A block with one engine."""
    return f"simulation: {{engines: {{chat: {text}}}}}\n"


def card(text: str) -> str:
    """A block with one change of the cards."""
    return f"simulation: {{cards: [{text}]}}\n"


def test_a_whole_block() -> None:
    """Given every form that a block has, when read, then engines and cards do as it says."""
    found = simulation(WHOLE)

    changes = (Change(60.0, {"hang": True}), Change(90.0, {"hang": False, "health": None}))
    log = (Line("loading", 0.1), Line("oh", stderr=True))
    assert found.engines == {"chat": Script(load_s=4.0, tps=45, requests=1, changes=changes, log=log)}
    assert found.default == Script(load_s=0.25, log=log)
    assert (found.of("chat"), found.of("other")) == (found.engines["chat"], found.default)
    assert found.cards == (
        CardChange(30.0, card=1, foreign=Foreign(9000, "python3")),
        CardChange(60.0, card=0, lost=True, xid=79),
        CardChange(90.0, order=(1, 0)),
        CardChange(150.0, card=0, power_limit_w=350),
        CardChange(0.0, unreadable="driver not loaded"),
        CardChange(10.0, unreadable=""),
    )


@pytest.mark.parametrize("text", ["", "simulation: {}\n", "simulation: {engines: {}, cards: []}\n"])
def test_a_file_that_scripts_nothing(text: str) -> None:
    """Given a rig file without a script, when read, then every engine does what engines do."""
    assert simulation(text) == Simulation()


VALUES: Final[dict[str, tuple[str, Any]]] = {
    "_s": ("1500ms", 1.5),
    "bool": ("true", True),
    "int": ("1", 1),
    "float": ("0.5", 0.5),
    "str": ("abc", "abc"),
}
"""By suffix of the field or by its type: how a value is written, and what is read."""


@pytest.mark.parametrize("name", [field.name for field in fields(Script) if field.name not in ("log", "changes")])
def test_every_field_of_a_script_is_a_key(name: str) -> None:
    """Given any field of a script, when its key is written, at first or as a change, then exactly this field is set."""
    kind = str(next(field.type for field in fields(Script) if field.name == name)).partition(" ")[0]
    written, value = VALUES["_s" if name.endswith("_s") else kind]
    if name in WORDS:
        written, value = f'"{WORDS[name][0]}"', WORDS[name][0]
    key, fields_set = key_of(name), {name: value}

    found = simulation(engine(f"{{{key}: {written}, changes: [{{after: 1s, {key}: {written}}}]}}")).engines["chat"]

    assert found == replace(Script(changes=(Change(1.0, fields_set),)), **fields_set)


def test_no_key_is_without_a_field() -> None:
    """Given the dataclasses of a script and of a card's change, then their keys are the keys of the file."""
    assert set(ENGINE.model.model_fields) == {key_of(field.name) for field in fields(Script)}
    assert set(CARD.model.model_fields) == {key_of(field.name) for field in fields(CardChange)}


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_the_bounds_are_the_engines(name: str) -> None:
    """Given a number that an engine would not take, when read, then the file does not take it either."""
    (problem,) = problems(engine(f"{{{name}: {BOUNDS[name][1] + 1:.0f}}}"))
    assert problem.path == f"simulation.engines.chat.{name}"
    assert f" to {BOUNDS[name][1]:.0f}" in problem.message


@pytest.mark.parametrize(
    ("text", "place", "path", "words", "hint"),
    [
        (engine("{laod: 4s}"), "2:31", "engines.chat.laod", "unknown key `laod`", "did you mean `load`?"),
        (engine("{load_s: 4s}"), "2:31", "engines.chat.load_s", "unknown key `load_s`", "did you mean `load`?"),
        (engine("{load: 4}"), "2:37", "engines.chat.load", "expected a duration such as 250ms", "write it with its unit"),
        (engine("{tps: 0}"), "2:36", "engines.chat.tps", "a number from 0.001 to 1000000, found the number 0", ""),
        (engine("{requests: -1}"), "2:41", "engines.chat.requests", "a whole number from 0 to 4096", ""),
        (engine("{vram_mib: 1.5}"), "2:41", "engines.chat.vram_mib", "a whole number of at least 0", ""),
        (engine("{health: 503}"), "2:39", "engines.chat.health", "expected `503`, `500` or `silent`", 'quote it: "503"'),
        (engine("{answers: word}"), "2:40", "engines.chat.answers", "expected `words`", "did you mean `words`?"),
        (engine("{hang: yes}"), "2:37", "engines.chat.hang", "expected true or false", "write true without quotes"),
        (engine("{hang: null}"), "2:37", "engines.chat.hang", "expected true or false, found nothing", "remove the key"),
        (engine("{log: loading}"), "2:36", "engines.chat.log", "expected a list", "write a list: [loading]"),
        (
            engine("{changes: [{after: 1s, changes: []}]}"),
            "2:53",
            "engines.chat.changes[0].changes",
            "unknown key `changes`",
            "",
        ),
        (
            engine("{changes: [{hang: true}]}"),
            "2:41",
            "engines.chat.changes[0].after",
            "`after` is missing",
            "add it: a duration",
        ),
        (engine("{changes: [{after: 1s}]}"), "2:41", "engines.chat.changes[0]", "nothing changes here", "such as `hang: true`"),
        ("simulation: {engines: {Chat: {}}}\n", "2:24", "engines.Chat", "expected the name of an instance, or", ""),
        ("simulation: {engine: {}}\n", "2:14", "engine", "unknown key `engine`", "did you mean `engines`?"),
        (card("{after: 1s, card: 2, lost: true}"), "2:40", "cards[0].card", "there is no card 2, the file has 2", "from 0"),
        (card("{after: 1s, lost: true}"), "2:22", "cards[0]", "`card` is missing: `lost` befalls one card", "add it"),
        (
            card("{after: 1s, card: 0, order: [0, 1]}"),
            "2:40",
            "cards[0].card",
            "`card` has no meaning here",
            "leave `card` out",
        ),
        (card("{after: 1s, order: [1, 1]}"), "2:41", "cards[0].order", "every card of the file once, found [1, 1]", "[1, 0]"),
        (card("{after: 1s, card: 0}"), "2:22", "cards[0]", "nothing changes here", "add `lost`, `xid`"),
        (card("{after: 1s, card: 0, foreign: {mib: -1}}"), "2:58", "cards[0].foreign.mib", "of at least 0", ""),
        (card("{after: 1s, card: 0, xid: 0}"), "2:48", "cards[0].xid", "a whole number from 1 to 999", ""),
        (card("{card: 0, lost: true}"), "2:22", "cards[0].after", "`after` is missing", "add it: a duration"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(text: str, place: str, path: str, words: str, hint: str) -> None:
    """Given one mistake, when read, then one problem has its place, what was expected and what to write."""
    (problem,) = problems(text)
    assert (str(problem.place), problem.path) == (f"rig.yml:{place}", f"simulation.{path}")
    assert words in problem.message
    assert hint in problem.hint


def test_mistakes_are_reported_all_at_once_in_the_files_order() -> None:
    """Given several mistakes, when read, then all are told, by their place."""
    found = problems("simulation:\n  engines: {chat: {tps: 0, laod: 1s}}\n  cards: [{after: 5}]\n")
    assert [problem.path for problem in found] == [
        "simulation.engines.chat.tps",
        "simulation.engines.chat.laod",
        "simulation.cards[0].after",
    ]


def test_the_example_of_the_docs_is_right() -> None:
    """Given the rig file of the docs, when it is read, then it has no problem and scripts engines and cards."""
    page = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    found = read_document("rig.yml", example.encode(), Bounds())
    assert isinstance(found, Document)
    rig, problems = check(RigFile, found)
    assert rig is not None, problems

    simulation = simulation_of(found)

    assert isinstance(simulation, Simulation), simulation
    assert simulation.engines
    assert simulation.cards


def test_a_block_that_is_none() -> None:
    """Given text in place of the block, when read, then it is a problem and not an empty simulation."""
    (problem,) = problems("simulation: fast\n")
    assert "expected a mapping with the keys `engines`, `cards`" in problem.message
