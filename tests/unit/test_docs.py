"""The docs say what the code does: generated parts are fresh, every key and figure is there, every example holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, get_type_hints

import pytest
from pydantic import BaseModel

from controller.adapters.docker import wire
from controller.app import live
from controller.cli import converging, tell
from controller.cli.main import main
from controller.loop import desire
from controller.model import log_line
from controller.model.compose import STEWARDS_OWN, Requires, Service, XSteward
from controller.model.desired import (
    Boot,
    Defaults,
    Drain,
    Entry,
    EstateFile,
    Gates,
    Health,
    Paths,
    Restart,
    Rig,
    RigBoot,
    Rollback,
)
from controller.model.fields import duration_text
from controller.model.profile import EngineProfile
from controller.model.status import State
from controller.resolve.rig_block import STAGGER_S
from controller.resolve.variables import IN_SOURCES
from controller.settings import Bounds
from controller.solver import placement_search
from controller.store import opening, secrets
from observability import api, client, documents, health, journal, server
from observability.cards import CardDocument
from tests import doc_tables

ROOT: Final = doc_tables.ROOT
DOCS: Final = ROOT / "docs"
PAGES: Final = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
BLOCKS: Final[dict[str, type[BaseModel]]] = {
    "boot": Boot,
    "health": Health,
    "drain": Drain,
    "restart": Restart,
    "rollback": Rollback,
    "gates": Gates,
}
LATER: Final = frozenset({State.BAKING, State.ROLLING_BACK})
"""States that this version never gives."""
RIG: Final = "2x:rtx-3090"
DECIDED_ELSEWHERE: Final = {
    "rig": "{}",
    "defaults": "{}",
    "estate": "required",
    "bind": Defaults().bind,
    "rig.boot.stagger": duration_text(STAGGER_S),
}
"""Keys whose default is not the one of their field."""


def page(name: str) -> str:
    """A page of the docs."""
    return (DOCS / f"{name}.md").read_text()


def rows(text: str) -> dict[str, list[str]]:
    """Table rows by each name in backquotes that their first cell has."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for name in re.findall(r"`([^`]+)`", cells[0]) if cells else ():
            found[name] = cells
    return found


def as_written(value: object) -> str:
    """A default as the tables write it."""
    if isinstance(value, float) and value >= 1:
        return duration_text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    empty = {"()": "[]", "{}": "{}", "": '""'}
    return empty.get(str(value), str(value))


def defaults(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every key of a model, with its default as the tables write it."""
    for name, info in model.model_fields.items():
        default = None if info.is_required() else info.get_default(call_default_factory=True)
        if not isinstance(default, BaseModel):
            yield prefix + name, "required" if info.is_required() else as_written(default)


@pytest.mark.parametrize("path", doc_tables.documents(), ids=lambda path: path.name)
def test_generated_parts_are_fresh(path: Path) -> None:
    """Given a page with generated tables, when they are made anew, then nothing changes."""
    assert path.read_text() == doc_tables.fresh(path.read_text()), "run `python -m tests.doc_tables`"


def test_every_generated_part_has_its_place() -> None:
    """Given the generators, when all pages are read, then each has exactly one block."""
    used = [found[2] for path in doc_tables.documents() for found in doc_tables.BLOCK.finditer(path.read_text())]
    assert sorted(used) == sorted(doc_tables.BLOCKS)


def anchors(text: str) -> set[str]:
    """The anchors that a web page makes of the headings."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    """Given a page, when its relative links are followed, then file and heading exist."""
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if "://" in target:
            continue
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there.read_text()), f"{target}#{anchor}"


def yaml_blocks(path: Path) -> list[str]:
    """The YAML examples of a page."""
    return re.findall(r"```yaml\n(.*?)```", path.read_text(), re.DOTALL)


@pytest.mark.parametrize("path", [ROOT / "README.md", DOCS / "estate.md"], ids=lambda path: path.name)
def test_examples_of_estates_are_valid(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Given the estates in the docs, when they are validated on two cards, then there is no problem at all."""
    examples = [block for block in yaml_blocks(path) if "\nestate:" in block]
    assert examples
    for example in examples:
        (tmp_path / "estate.yml").write_text(example)
        code = main(["validate", "--strict", "--estate", str(tmp_path / "estate.yml"), "--rig", RIG])
        assert code == 0, capsys.readouterr().out


def test_the_example_of_a_template_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Given the template in the docs, when an instance uses it, then it is valid and its defaults reach the arguments."""
    (example,) = yaml_blocks(DOCS / "composes.md")
    place = re.match(r"# (composes/\S+),", example)
    assert place is not None
    (tmp_path / place[1]).parent.mkdir(parents=True)
    (tmp_path / place[1]).write_text(example)
    (tmp_path / "desired").mkdir()
    entry = "{name: coder, compose: home/coder, gpus: [0, 1], port: 8010}"
    (tmp_path / "desired" / "estate.yml").write_text(f"estate: [{entry}]\n")
    common = ["--estate", str(tmp_path / "desired"), "--rig", RIG]
    assert main(["validate", "--strict", *common]) == 0, capsys.readouterr().out
    assert main(["render", "coder", *common]) == 0
    assert "/models/qwen3-coder-30b-awq" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        (EstateFile, ""),
        (Entry, ""),
        (Rig, "rig."),
        (RigBoot, "rig.boot."),
        (Paths, "rig.paths."),
        *((model, f"{name}.") for name, model in BLOCKS.items()),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_the_estate_page_has_every_key_with_its_default(model: type[BaseModel], prefix: str) -> None:
    """Given a block of the estate, when its keys are looked up, then each has a row with its true default."""
    table = rows(page("estate"))
    for key, default in defaults(model, prefix):
        assert key in table, f"`{key}` is missing"
        assert DECIDED_ELSEWHERE.get(key, default) in table[key], f"`{key}` is {DECIDED_ELSEWHERE.get(key, default)}"


def without_effect() -> set[str]:
    """The keys of the estate that the page says to have no effect yet, in whole or in part of a row."""
    return {key for key, cells in rows(page("estate")).items() if "no effect yet" in cells[-1].lower() and "." in key}


def attributes(tree: ast.AST) -> Iterator[str]:
    """Every `block.key` that code reads, with the last name before the key."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            yield f"{name}.{node.attr}"


def test_what_has_no_effect_is_said_so_and_nothing_else() -> None:
    """Given the keys that the code acts on, when the page is read, then exactly the others are marked."""
    places = ["controller/rollout", "controller/loop", "controller/app", "controller/store", "controller/adapters"]
    files = [path for place in [*places, "reconcilers", "observability"] for path in (ROOT / place).rglob("*.py")]
    read = {name for path in files for name in attributes(ast.parse(path.read_text()))}
    live_keys = {f"{name}.{key}" for name, model in BLOCKS.items() for key in model.model_fields}
    rig_keys = {"rig.formerly", "rig.power_limit_w"}
    assert without_effect() == {key for key in live_keys | rig_keys if key not in read} - {"gates.reason"}


def test_the_template_page_has_every_key() -> None:
    """Given the template format, when its keys are looked up, then each is there, also those that are refused."""
    text, table = page("composes"), rows(page("composes"))
    flat = {*XSteward.model_fields} - {"requires"} | {f"requires.{key}" for key in Requires.model_fields}
    assert {*flat, *Service.model_fields, *EngineProfile.model_fields, "extends"} <= table.keys()
    assert set(re.findall(r"`([a-z_]+)`", text)) >= STEWARDS_OWN
    assert {f"${{{name}}}" for name in IN_SOURCES} <= table.keys()


@pytest.mark.parametrize("bound", fields(Bounds), ids=lambda field: field.name)
def test_the_page_of_defaults_has_every_bound_with_its_value(bound: Any) -> None:
    """Given a bound of the process, when its row is read, then the value is the true one and there is a reason."""
    _, value, why = rows(page("defaults"))[bound.name]
    assert value == figure(bound.name, bound.default)
    assert why


def test_bounds_that_are_gone_leave_the_page() -> None:
    """Given the table of bounds, when its names are compared with the code, then none is left over."""
    section = page("defaults").split("## Bounds of the process")[1].split("## ")[0]
    listed = {name for name, cells in rows(section).items() if cells[0] == f"`{name}`"}
    assert listed == {bound.name for bound in fields(Bounds)}


def figure(name: str, value: float) -> str:
    """A bound as the page writes it: counts plain, bytes in KiB and MiB, times with their unit."""
    if isinstance(value, int) and name not in ("log_tail_bytes", "http_body", "estate_file", "overlay_bytes"):
        return str(value)
    if isinstance(value, int):
        return f"{value // 2**20} MiB" if value % 2**20 == 0 else f"{value // 1024} KiB"
    return re.sub(r"(\d)([a-z])", r"\1 \2", duration_text(value))


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("belief in a file that looks cut", desire.UNFINISHED_S),
        ("answer of the loop to a command", live.COMMAND_ANSWER_S),
        ("SQLite busy timeout", opening.BUSY_S),
        ("write-ahead log", opening.WAL_BYTES),
        ("a secret", secrets.MAX_BYTES),
        ("answer of the Docker engine", wire.ANSWER_BYTES),
        ("a line of a log", log_line.LINE_CHARACTERS),
        ("a journal line on stderr", journal.MESSAGE_CHARACTERS),
        ("HTTP connections", server.CONNECTIONS),
        ("idle HTTP connection", float(server.IDLE_S)),
        ("body of a command", api.COMMAND_BYTES),
        ("journal lines in one answer", api.EVENTS_AT_MOST),
        ("steps of the search for cards", placement_search.STEPS),
        ("age of the last pass before `/healthz` is 503", health.STALE_AFTER_S),
        ("question of a verb to the controller", client.READ_S),
        ("`stop`, `start`, `down` without a controller", tell.CARRY_OUT_S),
        ("`apply` while nothing moves", converging.BLOCKED_S),
        ("`apply` while memory of a card may come back", converging.MEMORY_S),
    ],
)
def test_the_page_of_defaults_has_the_bounds_that_stand_elsewhere(what: str, value: float) -> None:
    """Given a bound outside Settings, when its row is read, then the value is the true one and its file exists."""
    (cells,) = [line.strip("| ").split(" | ") for line in page("defaults").splitlines() if line.startswith(f"| {what} |")]
    name = "http_body" if isinstance(value, int) and value >= 2**16 else ""
    assert cells[1].removesuffix(" characters") == figure(name, value)
    assert (ROOT / cells[2].strip("`")).is_file()


def constructed(path: Path, called: str) -> set[str]:
    """The first argument of every call of a name, where it is a plain text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name == called and node.args and isinstance(node.args[0], ast.Constant):
            found.add(str(node.args[0].value))
    return found


def test_the_page_of_states_has_every_state_and_condition() -> None:
    """Given what the code can say of an instance and the rig, when the page is read, then each has a row, no more."""
    table, text = rows(page("states")), page("states")
    assert {state.value for state in State if state not in LATER} <= table.keys()
    assert all(f"`{state.value}`" in text for state in LATER)
    assert not table.keys() & {state.value for state in LATER}
    given = {kind for path in (ROOT / "controller" / "rollout").glob("*.py") for kind in constructed(path, "Condition")}
    assert given <= table.keys()


def test_states_of_later_versions_are_not_given_today() -> None:
    """Given the state machine, when its code is searched, then no state is given that the page calls a later one."""
    source = "".join(path.read_text() for path in (ROOT / "controller" / "rollout").glob("*.py"))
    given = {state for state in State if f"State.{state.name}" in source}
    assert given == set(State) - LATER


def test_the_page_of_states_has_every_kind_of_journal_line() -> None:
    """Given the kinds that the loop says, when the page is read, then each is there."""
    said = {kind for path in (ROOT / "controller" / "loop").glob("*.py") for kind in constructed(path, "say")}
    table = rows(page("states"))
    assert said
    assert {*said, "ActionDone", "ActionWaits", "ActionRefused", "ActionUnknown"} <= table.keys()


def test_the_page_of_http_has_every_path_and_key() -> None:
    """Given the routes and the documents, when the page is read, then each path and each key is named."""
    text = page("http")
    routes = re.findall(r'"(/[a-z0-9/{}]+)": pages', (ROOT / "observability" / "api.py").read_text())
    assert len(routes) > 5
    kinds = (documents.StatusDocument, documents.InstanceDocument, documents.PlanDocument, documents.StepDocument)
    more = (documents.ProblemDocument, documents.EventDocument, documents.ConditionDocument, documents.EngineMetricsDocument)
    keys = {key for kind in (*kinds, *more, CardDocument) for key in get_type_hints(kind)}
    assert [route for route in routes if route not in text] == []
    assert sorted(key for key in keys if f"`{key}`" not in text) == []
