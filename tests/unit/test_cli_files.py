"""The verbs that work on files alone: validate, explain, render, schema, init. None needs a Docker engine."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.unit.cli import ESTATE, Steward

BROKEN = "estate: [{name: chat, compose: simulated/default, gpus: [0, 7], port: 8010, helth: {}}]\n"
RIG = ("--rig", "2x:rtx-3090")


def test_a_valid_estate_is_valid(steward: Steward) -> None:
    """Given a valid estate, when it is validated, then one line says so and the code is 0."""
    steward.write(ESTATE)
    ended = steward("validate", *RIG)
    assert (ended.code, ended.out, ended.err) == (0, "valid: no problems\n", "")


def test_every_problem_has_its_place_and_a_hint(steward: Steward) -> None:
    """Given two mistakes, when the estate is validated, then both are told with file, line, column and hint; the code is 1."""
    steward.write(BROKEN)
    ended = steward("validate", *RIG)
    assert ended.code == 1
    assert "desired/estate.yml:1:77: error: unknown key `helth` [schema]" in ended.out
    assert "hint: did you mean `health`?" in ended.out
    assert "the rig has no card 7 [E1]" in ended.out
    assert ended.out.endswith("not valid: 2 errors\n")


def test_problems_as_json(steward: Steward) -> None:
    """Given two mistakes, when they are asked for as JSON, then the document has both and nothing else is on stdout."""
    steward.write(BROKEN)
    ended = steward("validate", "--output", "json", *RIG)
    document = json.loads(ended.out)
    assert ended.code == 1
    assert document["valid"] is False
    assert {problem["rule"] for problem in document["problems"]} == {"schema", "E1"}


def test_problems_as_github_annotations(steward: Steward) -> None:
    """Given a mistake, when GitHub's form is asked for, then each is a workflow command; a valid estate prints nothing."""
    steward.write(BROKEN)
    assert steward("validate", "--output", "github", *RIG).out.startswith("::error file=desired/estate.yml,line=1,")
    steward.write(ESTATE)
    assert steward("validate", "--output", "github", *RIG).out == ""


def test_strict_makes_warnings_errors(steward: Steward) -> None:
    """Given an estate with a warning, when it is validated, then the code is 0, and 1 under --strict."""
    steward.write(ESTATE + "    depends_on: [chat]\n" + "  - {name: c, compose: simulated/default, gpus: [], port: 8012}\n")
    steward.write(steward.estate.read_text().replace("    set: {max_model_len: 4096}", "    state: stopped"))
    assert steward("validate", *RIG).code == 0
    assert steward("validate", "--strict", *RIG).code == 1


@pytest.mark.parametrize("verb", [("validate",), ("explain", "chat"), ("render", "chat"), ("plan",), ("apply",), ("status",)])
def test_without_an_estate_every_verb_says_how_to_get_one(steward: Steward, verb: tuple[str, ...]) -> None:
    """Given no estate, when a verb needs one, then it says so with the way out, and the code is 1."""
    ended = steward(*verb)
    assert ended.code == 1
    assert "there is no estate at desired" in ended.out + ended.err
    assert "`steward init` writes one" in ended.out + ended.err


@pytest.mark.parametrize("verb", ["explain", "render"])
def test_a_name_that_does_not_exist_is_told_with_the_nearest(steward: Steward, verb: str) -> None:
    """Given a name with a typing mistake, when it is asked for, then the nearest name is offered and the code is 64."""
    steward.write(ESTATE)
    near, far = steward(verb, "caht"), steward(verb, "zzz")
    assert (near.code, near.err) == (64, "steward: there is no instance caht; did you mean chat?\n")
    assert (far.code, far.err) == (64, "steward: there is no instance zzz; the estate has: chat, embed\n")


def test_explain_shows_the_origin_of_every_value(steward: Steward) -> None:
    """Given an instance, when it is explained, then values of the estate, the template and the defaults have their places."""
    steward.write(ESTATE)
    lines = {line.split()[0]: line for line in steward("explain", "chat", *RIG).out.splitlines() if line}
    assert lines["set.max_model_len"].endswith("estate  desired/estate.yml:7:26")
    assert "composes/simulated/default.yml:" in lines["set.max_num_seqs"]
    assert lines["boot.stall"].endswith("built-in default")
    assert "GPU-" in lines["gpus.uuids"]
    assert lines["C1"].split()[:2] == ["C1", "holds"]


def test_plan_says_what_is_not_quite_right(steward: Steward) -> None:
    """Given an estate with a waiver that is over, when it is planned, then the plan is on stdout and the warning on stderr."""
    waiver = "waive: [{rule: C12, reason: x, until: 2020-01-01T00:00:00Z}]"
    steward.write(ESTATE.replace("    port: 8011\n", f"    port: 8011\n    {waiver}\n"))
    ended = steward("plan", "--rig", "sim")
    assert (ended.code, ended.out.splitlines()[0][:5]) == (0, "plan:")
    assert "warning: the waiver of C12 is over since 2020-01-01T00:00:00.000Z and counts no more [waive]" in ended.err


def test_render_prints_a_compose_document(steward: Steward) -> None:
    """Given an instance, when it is rendered, then the document has its image, port and arguments."""
    steward.write(ESTATE)
    document = yaml.safe_load(steward("render", "embed", *RIG).out)
    engine = document["services"]["engine"]
    assert engine["image"] == "steward-test/simulated:1"
    assert engine["ports"][0]["published"] == "8011"
    assert "--max-model-len" in engine["command"]


@pytest.mark.parametrize("document", ["estate", "compose"])
def test_schema_prints_a_json_schema(steward: Steward, document: str) -> None:
    """Given a document kind, when its schema is asked for, then it is JSON with the document's top keys."""
    schema = json.loads(steward("schema", document).out)
    assert ("estate" if document == "estate" else "x-steward") in schema["properties"]
    assert steward("schema").out == steward("schema", "estate").out


def test_init_writes_an_estate_that_is_valid_and_only_watches(steward: Steward) -> None:
    """Given no estate, when init is called, then a valid one is there, with the cards of the rig, in observe mode."""
    ended = steward("init", *RIG)
    assert ended.code == 0
    text = steward.estate.read_text()
    assert "# Card 1: NVIDIA GeForce RTX 3090, GPU-" in text
    assert yaml.safe_load(text)["rig"]["mode"] == "observe"
    assert steward("validate", *RIG).code == 0


@pytest.mark.parametrize("rig", ["2x:rtx-3090", "1x:rtx-3090"])
def test_the_example_of_init_is_valid_once_uncommented(steward: Steward, rig: str) -> None:
    """Given the file of init, when its example is uncommented, then it is valid on the same rig."""
    steward("init", "--rig", rig)
    head, example = steward.estate.read_text().split("estate: []", 1)
    lines = [line.removeprefix("# ") for line in example.splitlines()[1:]]
    steward.write(head + "\n".join(lines) + "\n")
    ended = steward("validate", "--strict", "--rig", rig)
    assert ended.code == 0, ended.out
    assert steward("explain", "chat", "--rig", rig).code == 0


def test_init_overwrites_nothing(steward: Steward) -> None:
    """Given an estate, of whatever file name, when init is called, then it is left as it is and the code is 64."""
    steward.write(ESTATE)
    ended = steward("init", *RIG)
    assert (ended.code, steward.estate.read_text()) == (64, ESTATE)
    assert "desired/estate.yml exists already" in ended.err
    steward.estate.rename(steward.estate.with_name("rig.yaml"))
    assert steward("init", *RIG).code == 64
    assert not steward.estate.exists()


def test_init_where_nothing_can_be_written(steward: Steward) -> None:
    """Given a place that is no folder, when init is called, then a sentence says so and the code is 3."""
    (steward.folder / "file").write_text("")
    ended = steward("init", "--estate", "file/desired", *RIG)
    assert (ended.code, ended.err) == (3, "steward: file/desired/estate.yml cannot be written: not a directory\n")


def test_a_rig_that_does_not_exist(steward: Steward) -> None:
    """Given a card that nobody knows, when an estate is validated on it, then the nearest is offered and the code is 64."""
    steward.write(ESTATE)
    ended = steward("validate", "--rig", "2x:rtx-309")
    assert ended.code == 64
    assert "did you mean `rtx-3090`?" in ended.err
