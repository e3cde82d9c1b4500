"""Older estates become estates: the engines get the arguments that they had, and what cannot be carried is told."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from controller.model.document import Document
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.resolve import Surroundings, resolve
from controller.resolve.importing import Host, Ledger, Sources, imported, read_variables
from controller.resolve.profiles import Profiles
from controller.sources.rig_facts import rig_facts
from controller.sources.yaml_reader import read_document
from tests.unit.argv_text import argv_text
from tests.unit.templates import BOUNDS, CATALOGUE, RIG
from tests.unit.test_catalogue_commands import ALWAYS, commands

GOLDEN: Final = Path(__file__).parent / "golden" / "imports"
HOST: Final = Host("/data", "/home/somebody")
TODAY: Final = {"vllm/dual": "historical/vllm/dual", "vllm/minimal": "historical/vllm/minimal"}
"""Ids of v0.7.3 that have passed to newer templates."""


def estate(text: str, env: str = "", *, current: bool = False) -> tuple[str, list[str]]:
    """What an older estate becomes, and what is told as `file:line: message`."""
    document = read_document("old.yml", text.encode(), BOUNDS)
    assert isinstance(document, Document), document
    ledger = Ledger()
    variables = read_variables(".env", env, ledger)
    written = imported(Sources(document, variables, HOST, HOST), Profiles(CATALOGUE), ledger, current=current)
    assert written is not None
    told = [f"{p.place.file}:{p.place.line}: {p.message}" for p in ledger.problems if p.place is not None]
    assert len(told) == len(ledger.problems), "everything has its place"
    return written, told


def resolved(text: str) -> Resolved:
    """The imported estate on four cards."""
    document, facts = read_document("estate.yml", text.encode(), BOUNDS), rig_facts(RIG, CATALOGUE, BOUNDS)
    assert isinstance(document, Document), document
    assert isinstance(facts, RigFacts), facts
    found = resolve([document], CATALOGUE, Surroundings(facts), "rev")
    assert isinstance(found, Resolved), found
    return found


def keys(text: str) -> dict[str, object]:
    """The first entry of an estate."""
    document = read_document("estate.yml", text.encode(), BOUNDS)
    assert isinstance(document, Document), document
    assert isinstance(document.data, dict)
    listed = document.data["estate"]
    assert isinstance(listed, list)
    assert isinstance(listed[0], dict)
    return dict(listed[0])


@pytest.mark.parametrize("name", ["one-card", "two-cards", "four-cards"])
def test_an_imported_estate_starts_its_engines_as_before(name: str) -> None:
    """Given an estate of v0.7.3, when it is imported and resolved, then each engine gets the arguments of its template."""
    old = read_document(name, (GOLDEN / f"{name}.yml").read_bytes(), BOUNDS)
    assert isinstance(old, Document), old
    assert isinstance(old.data, dict)
    listed = old.data["estate"]
    assert isinstance(listed, list)
    text, _ = estate((GOLDEN / f"{name}.yml").read_text())
    instances = resolved(text).instances
    assert len(instances) == len(listed)
    for written, instance in zip(listed, instances, strict=True):
        assert isinstance(written, dict)
        template = str(written.get("compose") or written.get("compose_name"))
        lines = argv_text(instance.spec.argv).splitlines()
        assert sorted(line for line in lines if not ALWAYS.match(line)) == sorted(commands()[TODAY.get(template, template)])
        assert (instance.name, instance.spec.port) == (written["name"], written["port"])
        assert instance.gpus_text == str(written["gpus"]).replace(" ", "")


def test_an_id_that_has_passed_to_another_template_means_what_it_meant() -> None:
    """Given vllm/dual in an older estate, when it is imported, then it is the older template, or the newer one by wish."""
    text = "estate: [{name: a, compose_name: vllm/dual, gpus: [0, 1], port: 8010}]"
    written, told = estate(text)
    assert keys(written)["compose"] == "historical/vllm/dual"
    assert "`compose: vllm/dual` takes the template that has its name today" in written
    assert len(told) == 1
    written, told = estate(text, current=True)
    assert (keys(written)["compose"], told) == ("vllm/dual", [])


def test_notes_and_facts_of_the_rig_are_told() -> None:
    """Given the informational keys of the older tooling, when they are imported, then each is told with its line."""
    text = "created: x\nrig:\n  hardware_id: y\n  mode: auto\n  colour: red\nestate: []\nmore: 1\n"
    written, told = estate(text)
    assert told == [
        "old.yml:1: created is left out: git knows when a file was written",
        "old.yml:3: rig.hardware_id is not needed: Steward asks the driver for the cards",
        "old.yml:5: rig.colour means nothing to Steward",
        "old.yml:7: more means nothing to Steward",
    ]
    assert "rig: {mode: auto}" in written


def test_what_an_entry_lacks_is_taken_from_its_template_and_marked() -> None:
    """Given entries that lack names, cards and ports, when they are imported, then there is something to look at."""
    big = "{name: Big_One, compose: llamacpp/default, gpus: '2', port: '8020'}"
    text = f"estate:\n  - compose: vllm/dual-turbo\n  - {big}\n  - {{name: x}}\n"
    written, told = estate(text)
    assert keys(written) == {"name": "dual-turbo", "compose": "vllm/dual-turbo", "gpus": [0, 1], "port": 8011}
    assert written.count("# LOOK") == 5
    assert "name: big-one" in written
    assert told == [
        "old.yml:2: the entry names no cards",
        "old.yml:3: the name Big_One becomes big-one",
        "old.yml:4: the entry names no template",
        "old.yml:4: the entry names no cards",
    ]


def test_an_unknown_template_is_kept_and_told() -> None:
    """Given an id that nobody has, when it is imported, then it stays, with the id that was probably meant."""
    document = read_document("old.yml", b"estate: [{name: a, compose: vllm/duel, gpus: [0], port: 8010, size: 2}]", BOUNDS)
    assert isinstance(document, Document)
    ledger = Ledger()
    text = imported(Sources(document, {}, HOST, HOST), Profiles(CATALOGUE), ledger)
    assert text is not None
    assert keys(text)["compose"] == "vllm/duel"
    assert [(p.message, p.hint) for p in ledger.problems] == [
        ("there is no template vllm/duel", "did you mean `vllm/dual`?"),
        ("size means nothing to Steward", "`steward schema` tells the keys of an entry"),
    ]


def test_variables_find_the_instances_that_they_were_for() -> None:
    """Given variables of both engine types, when they are imported, then each is a parameter of the right instances."""
    env = """
export MODEL_DIR=~/models
MAX_MODEL_LEN=131072  # shorter
GPU_MEMORY_UTILIZATION="0.9"
TP=2
VLLM_ENFORCE_EAGER=1
KV_CACHE_DTYPE=fp8_e4m3
CTX_SIZE=65536
BATCH_SIZE=2048
UBATCH_SIZE=512
KV_TYPE=q8_0
GGUF_FILE=models/other.gguf
MMPROJ_FILE=qwen3.6-27b-gguf/mmproj-F16.gguf
REASONING_FORMAT=auto
VLLM_IMAGE=vllm/vllm-openai:v0.28.0
BIND_HOST=0.0.0.0
HF_TOKEN=hf_very_secret
"""
    entries = (
        "{name: a, compose: vllm/dual-turbo, gpus: [0, 1], port: 1}, {name: b, compose: llamacpp/default, gpus: [2], port: 2}"
    )
    written, told = estate(f"estate: [{entries}]", env)
    instances = {instance.name: instance for instance in resolved(written).instances}
    ours, theirs = instances["a"].parameters, instances["b"].parameters
    assert (ours["max_model_len"], ours["gpu_memory_utilization"], ours["enforce_eager"]) == (131072, 0.9, True)
    assert (ours["tensor_parallel_size"], ours["kv_cache_dtype"]) == (2, "fp8_e4m3")
    assert (theirs["max_model_len"], theirs["kv_cache_dtype"], theirs["reasoning_parser"]) == (65536, "q8_0", "auto")
    assert (theirs["max_num_batched_tokens"], theirs["ubatch_size"]) == (2048, 512)
    assert (theirs["model_path"], theirs["model_file"]) == ("models", "other.gguf")
    assert (instances["a"].spec.image, instances["a"].spec.bind) == ("vllm/vllm-openai:v0.28.0", "0.0.0.0")
    assert "paths: {models: /home/somebody/models}" in written
    assert "# MAX_MODEL_LEN in .env, line 3" in written
    assert told == [".env:17: HF_TOKEN becomes the secret hf-token"]
    assert "hf_very_secret" not in written


def test_a_context_for_all_slots_is_divided_among_them() -> None:
    """Given CTX_SIZE for a template with four slots, when it is imported, then each request has its share."""
    written, _ = estate("estate: [{name: a, compose: llamacpp/concurrent, gpus: [0], port: 1}]", "CTX_SIZE=131072")
    assert resolved(written).instances[0].parameters["max_model_len"] == 32768


def test_what_no_instance_can_take_is_told_with_its_line() -> None:
    """Given variables without a taker, when they are imported, then each is told, and no value of an unknown one is shown."""
    env = "CTX_SIZE=4096\nMAX_MODEL_LEN=999999\nPP=2\nBIND_HOST=localhost\nPORT=80\nMYSTERY=secret\nnonsense\nKV_CACHE_DTYPE=\n"
    written, told = estate(
        "estate: [{name: a, compose: vllm/dual, gpus: [0, 1], port: 1}]", env + "VLLM_IMAGE=::\n", current=True
    )
    assert "set:" not in written
    assert told == [
        ".env:7: this line is no NAME=value",
        ".env:1: CTX_SIZE is for llamacpp, and no instance here is one of them",
        ".env:2: MAX_MODEL_LEN: max_model_len 999999 is above the template's maximum 262144",
        ".env:3: PP: vllm/dual does not open pipeline_parallel_size",
        ".env:4: BIND_HOST is no IP address",
        ".env:5: PORT is not needed: each instance has its port in the estate",
        ".env:6: MYSTERY is no variable that Steward knows",
        ".env:9: VLLM_IMAGE: :: is no image reference",
    ]


def test_a_port_in_the_variables_is_for_the_one_instance_without() -> None:
    """Given PORT and one entry without a port, when they are imported, then it has that one."""
    written, told = estate("estate: [{name: a, compose: llamacpp/default, gpus: [0]}]", "PORT=8123")
    assert (keys(written)["port"], told) == (8123, [])


def test_other_files_are_neither() -> None:
    """Given a file with neither estate nor services, when it is imported, then it is nothing."""
    document = read_document("x.yml", b"a: 1", BOUNDS)
    assert isinstance(document, Document)
    assert imported(Sources(document, {}, HOST, HOST), Profiles(CATALOGUE), Ledger()) is None
