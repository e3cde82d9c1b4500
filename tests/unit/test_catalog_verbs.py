"""`steward catalog list`, `show`, `suggest` and `check`, as people call them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.model.document import Document
from tests.fakes.image_registry import registry
from tests.unit.cli import Ended, Steward
from tests.unit.templates import CATALOGUE, TEMPLATES

KINDS: Mapping[str, str] = {
    "composes": "composes",
    "models": "profiles/models",
    "engines": "profiles/engines",
    "hardware": "profiles/hardware",
    "drafters": "profiles/drafters",
    "workloads": "profiles/workloads",
    "overlays": "overlays",
    "limits": "profiles/limits",
}


def document(ended: Ended) -> dict[str, Any]:
    """The JSON that a command printed."""
    found = json.loads(ended.out)
    assert isinstance(found, dict)
    return found


def test_list_as_json_has_every_document_of_every_kind(steward: Steward) -> None:
    """Given the built-in catalogue, when it is listed as JSON, then each kind has all its ids."""
    ended = steward("catalog", "list", "--output", "json")
    found = document(ended)
    assert (ended.code, ended.err) == (0, "")
    assert {kind: [row["id"] for row in rows] for kind, rows in found.items()} == {
        kind: list(CATALOGUE.ids(folder)) for kind, folder in KINDS.items()
    }
    dual = next(row for row in found["composes"] if row["id"] == "vllm/dual")
    assert {key: dual[key] for key in ("engine", "model", "status", "gpus")} == {
        "engine": "vllm-stable",
        "model": "qwen3.6-27b",
        "status": "production_with_caveats",
        "gpus": 2,
    }


def test_list_is_a_table_of_templates(steward: Steward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a terminal of 80 columns, when templates are listed, then there is a line for each, and none is wider."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = steward("catalog", "list").out.splitlines()
    assert lines[0].split()[:3] == ["COMPOSE", "ENGINE", "MODEL"]
    assert [line.split()[0] for line in lines[1:]] == list(TEMPLATES)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_listed(kind: str, steward: Steward) -> None:
    """Given a kind, when it is listed, then there is a heading and a line for each document, also as JSON."""
    lines = steward("catalog", "list", "--kind", kind).out.splitlines()
    assert len(lines) == 1 + len(CATALOGUE.ids(KINDS[kind]))
    assert list(document(steward("catalog", "list", "--kind", kind, "--output", "json"))) == [kind]


def test_list_shows_what_lies_beside_the_estate_and_tells_of_what_is_wrong(steward: Steward) -> None:
    """Given templates of one's own of which one is wrong, when they are listed, then the good one is there and a line tells."""
    steward.write("estate: []")
    own = steward.folder / "composes" / "home"
    own.mkdir(parents=True)
    (own / "good.yml").write_text("x-steward: {engine: vllm-generic, note: mine}\nservices: {engine: {}}\n")
    (own / "bad.yml").write_text("x-steward: {engine: nothing}\n")
    ended = steward("catalog", "list")
    assert "home/good" in ended.out
    assert "home/bad" not in ended.out
    assert ended.err == "steward: 1 of them cannot be read; `steward catalog check` says why\n"


def test_show_tells_what_a_template_is_and_needs(steward: Steward) -> None:
    """Given a template with a known limit, when it is shown, then needs, bounds, overlays, limits and an entry are there."""
    out = steward("catalog", "show", "vllm/long-text").out
    for part in (
        "engine    vllm-nightly-mtp: vllm, vllm/vllm-openai:nightly-01d4d1ad",
        ", purged (2026-05-20)\n",
        "model     qwen3.6-27b, 262144 tokens, family qwen3-next-hybrid",
        "needs     1 card, ",
        "vllm-qwen3-next-one-card: Qwen3-Next hybrids on one card",
        "  Use llama.cpp: 262144 tokens",
        "froggeric-chat-template",
        "\n  - name: qwen3-6-27b\n    compose: vllm/long-text\n    gpus: [0]\n    port: 8020\n",
    ):
        assert part in out
    parameters = {
        row["name"]: row for row in document(steward("catalog", "show", "vllm/dual", "--output", "json"))["parameters"]
    }
    assert (parameters["max_model_len"]["default"], parameters["max_model_len"]["max"]) == (262144, 262144)
    assert parameters["max_model_len"]["place"].endswith("composes/vllm/dual.yml:13:30")
    assert (parameters["tensor_parallel_size"]["settable"], parameters["model_path"]["settable"]) == (False, True)


@pytest.mark.parametrize(
    ("identifier", "said", "user"),
    [
        ("qwen3.6-27b", "family: qwen3-next-hybrid", "vllm/dual"),
        ("vllm-stable", "image: vllm/vllm-openai:v0.27.1", "vllm/dual"),
        ("rtx-3090", "nvlink: true", "vllm/dual"),
        ("qwen-mtp-builtin", "method: mtp", "vllm/dual"),
        ("tool-heavy", "tools: required", "vllm/default"),
        ("nvlink-autodetect", "mechanism: ", "vllm/dual"),
        ("vllm-qwen3-next-one-card", "way_out:", "vllm/default"),
    ],
)
def test_show_prints_a_profile_of_any_kind_with_its_users(identifier: str, said: str, user: str, steward: Steward) -> None:
    """Given the id of a profile, when it is shown, then it is printed as written, with the templates that it is about."""
    assert said in steward("catalog", "show", identifier).out
    found = document(steward("catalog", "show", identifier, "--output", "json"))
    assert user in found["used_by"]
    assert found["id"] == identifier


def test_show_of_what_is_not_there_or_not_clear(steward: Steward) -> None:
    """Given ids that nothing or several things have, or a wrong document, when they are shown, then it is said which."""
    ended = steward("catalog", "show", "vllm/daul")
    assert (ended.code, ended.err) == (64, "steward: there is no document vllm/daul; did you mean `vllm/dual`?\n")
    folder = steward.folder / "profiles" / "models"
    folder.mkdir(parents=True)
    steward.write("estate: []")
    (folder / "rtx-3090.yml").write_text("id: [\n")
    ended = steward("catalog", "show", "rtx-3090")
    assert (ended.code, ended.err) == (64, "steward: rtx-3090 is one of models, hardware: say which with --kind\n")
    assert steward("catalog", "show", "rtx-3090", "--kind", "hardware").code == 0
    ended = steward("catalog", "show", "rtx-3090", "--kind", "models")
    assert ended.code == 1
    assert "profiles/models/rtx-3090.yml:" in ended.err


def test_suggest_prints_a_table_reasons_and_an_estate(steward: Steward) -> None:
    """Given a rig, when templates are suggested, then the best come first with the reason, then an estate."""
    ended = steward("catalog", "suggest", "--workload", "tool-heavy", "--rig", "1x:rtx-3090", "--count", "2")
    lines = ended.out.splitlines()
    assert ended.code == 0
    assert lines[0].split()[0] == "COMPOSE"
    assert lines[1].startswith("llamacpp/default ")
    assert lines[1].endswith("1 warning: G4; the best")
    assert lines[2].endswith("1 warning: G4; less context")
    assert any(line.startswith("llamacpp/default: warning: ") for line in lines)
    assert any("would suit the use and not the rig 1x:rtx-3090" in line and "by E1" in line for line in lines)
    estate = ended.out[ended.out.index("estate:\n") :]
    assert estate == "estate:\n  - name: qwen3-6-27b\n    compose: llamacpp/default\n    gpus: [0]\n    port: 8020\n"


def test_suggest_as_json(steward: Steward) -> None:
    """Given a rig, when templates are suggested as JSON, then figures, warnings and entry are there."""
    found = document(steward("catalog", "suggest", "--workload", "fast-chat", "--rig", "2x:rtx-3090", "--output", "json"))
    best = found["suggestions"][0]
    assert found["estate"].startswith("estate:\n  - name: ")
    assert best["entry"]["compose"] == best["compose"]
    assert best["entry"]["gpus"] == best["gpus"] == [0, 1]
    assert best["measured"]["timing"] in ("wall", "decode")
    assert len(found["suggestions"]) == 5
    assert {"compose", "rule", "message"} == set(found["refused"][0])


def test_suggest_says_when_nothing_suits(steward: Steward) -> None:
    """Given a small card, when templates for a large model are asked for, then only the reasons are named."""
    ended = steward("catalog", "suggest", "--workload", "tool-heavy", "--model", "gemma-4-31b", "--rig", "1x:rtx-3060-12gb")
    assert ended.code == 1
    assert "would suit the use and not the rig" in ended.out
    assert ended.out.endswith("nothing suits; templates such as vllm/generic take any model\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workload", "tool-hevy"), "there is no workload tool-hevy; did you mean `tool-heavy`?"),
        (("--workload", "tool-heavy", "--model", "qwen"), "there is no model qwen; "),
        (("--workload", "tool-heavy", "--rig", "2x"), "--rig 2x"),
    ],
)
def test_suggest_refuses_what_is_not_there(words: tuple[str, ...], said: str, steward: Steward) -> None:
    """Given a word that means nothing, when suggestions are asked for, then it is named with what was probably meant."""
    ended = steward("catalog", "suggest", *(("--rig", "sim") if "--rig" not in words else ()), *words)
    assert ended.code == 64
    assert said in ended.err


def test_check_of_the_built_in_catalogue(steward: Steward) -> None:
    """Given what comes with Steward, when it is checked, then it is valid."""
    ended = steward("catalog", "check")
    assert ended.code == 0
    assert ended.out.splitlines()[-1].startswith("valid")


def test_check_finds_mistakes_of_every_kind(steward: Steward) -> None:
    """Given documents beside the estate with one mistake each, when they are checked, then each is an error at its place."""
    steward.write("estate: []")
    for name, text in {
        "overlays/mine.yml": "id: mine\ntitle: t\nmechanism: env\nsource: none\nupstream: [row-of-nothing]\nenv: {A: b}\n",
        "overlays/bare.yml": "id: bare\ntitle: t\nmechanism: env\nsource: none\nupstream: []\nenv: {A: b}\n",
        "profiles/workloads/w.yml": "id: w\nname: W\npriorities: {tools: maybe}\ndefaults: {max_num_seqs: 1, drafter: true}\n",
        "profiles/measurements.yml": (
            "measurements: [{template: vllm/daul, cards: [rtx-3090, rtx-39], context: 1, prose: 1, timing: wall,"
            ' as_of: "2026-01-01", source: x}]\n'
        ),
        "composes/home/x.yml": "x-steward: {engine: vllm-generic, model: nothing}\nservices: {engine: {}}\n",
    }.items():
        path = steward.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    ended = steward("catalog", "check", "--output", "json")
    found = document(ended)
    assert (ended.code, found["valid"]) == (1, False)
    errors = [(p["file"], p["line"], p["message"]) for p in found["problems"] if p["severity"] == "error"]
    assert [(file, line) for file, line, _ in errors] == [
        ("composes/home/x.yml", 1),
        ("overlays/bare.yml", 5),
        ("overlays/mine.yml", 5),
        ("profiles/measurements.yml", 1),
        ("profiles/measurements.yml", 1),
        ("profiles/workloads/w.yml", 3),
    ]
    assert "there is no row in profiles/upstream.yml row-of-nothing" in [message for _, _, message in errors]
    assert "there is no template vllm/daul" in [message for _, _, message in errors]


def test_the_documents_in_the_docs_are_right(steward: Steward) -> None:
    """Given the page about the catalogue, when its examples are saved, then they are valid, and suggested for their use."""
    page = (Path(__file__).parents[2] / "docs" / "catalogue.md").read_text()
    steward.write("estate: []")
    for name, text in re.findall(r"```yaml\n# (\S+\.yml)\n(.*?)```", page, re.DOTALL):
        (steward.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (steward.folder / name).write_text(text)
    checked = document(steward("catalog", "check", "--output", "json"))
    assert [problem for problem in checked["problems"] if "home" in problem["file"]] == []
    ended = steward("catalog", "suggest", "--workload", "fast-chat", "--model", "home-coder", "--rig", "1x:rtx-3090")
    assert ended.code == 0, ended.out
    assert "compose: home/coder" in ended.out


def test_the_page_has_every_kind_and_the_number_of_templates() -> None:
    """Given the page about the catalogue, when its kinds are read, then each that can be listed has a row."""
    page = (Path(__file__).parents[2] / "docs" / "catalogue.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(KINDS)
    assert f": {len(TEMPLATES)} container templates" in page


def test_check_online_asks_for_every_image_and_tells_what_has_changed(steward: Steward) -> None:
    """Given a catalogue whose images are at one registry, when it is checked online, then each has its state and day."""
    steward.write("estate: []")
    folder = steward.folder / "profiles" / "engines"
    folder.mkdir(parents=True)
    with registry() as fake:
        for name in CATALOGUE.ids("profiles/engines"):
            built_in = CATALOGUE.find("profiles/engines", name)
            assert isinstance(built_in, Document), built_in
            text = Path(built_in.file).read_text()
            (folder / f"{name}.yml").write_text(re.sub(r"(?m)^image: .*/.*$", f"image: {fake.reference(name)}", text))
        fake.images = {"vllm-stable:1"}
        table = steward("catalog", "check", "--online")
        found = document(steward("catalog", "check", "--online", "--output", "json"))
    assert table.code == 0, table.out
    lines = table.out.splitlines()
    assert lines[0].split() == ["STATE", "SEEN", "RECORDED", "ENGINES", "IMAGE", "WHY"]
    assert next(line for line in lines if " vllm-stable " in line).startswith("available  20")
    assert next(line for line in lines if " vllm-generic " in line).startswith("purged     20")
    assert "/vllm-generic:1 is recorded as available, and its registry says purged [availability]" in table.out
    assert {image["state"] for image in found["images"]} == {"available", "purged"}
    assert found["valid"]
