"""Overlays of an instance: which ones, in which order, what they do to its container, and what is missing of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controller.model.document import Document
from controller.model.overlay import Overlay
from controller.model.payload import Payload, PayloadNeed, part_of, payload_of
from controller.model.problem import Severity
from controller.model.resolved import ResolvedInstance
from controller.resolve import Surroundings
from controller.resolve.overlay_effects import START
from tests.unit.resolving import CATALOGUE, TWO_CARDS, errors_of, one, problems

VLLM = "name: chat, compose: vllm/any, gpus: [0], port: 8010, set: {model_path: qwen}"
SHA = "a" * 64


def record(name: str, *lines: str, mechanism: str = "file_mounts", source: str = "none", upstream: str = "[]") -> str:
    """The record of an overlay."""
    head = [f"id: {name}", f"title: {name}", f"mechanism: {mechanism}", f"source: {source}", f"upstream: {upstream}"]
    return "\n".join([*head, *lines, ""])


def fetched(path: str = "fix.py", target: str = "/opt/fix.py", sha: str = SHA) -> str:
    """A source that is fetched."""
    file = f"{{path: {path}, target: {target}, sha256: {sha}}}"
    return f"{{git: {{url: 'https://forge.test/o/r', commit: {'c' * 40}, files: [{file}]}}}}"


DIR = "{dir: {files: [{path: fix.sh}]}}"
STEP = "steps: [{run: [sh, /etc/steward/overlays/NAME/fix.sh]}]"
SHELF = {
    **CATALOGUE,
    "profiles/engines/vllm": CATALOGUE["profiles/engines/vllm"] + "entrypoint: [vllm, serve]\n",
    "overlays/first": record("first", "order: 100", source=fetched()),
    "overlays/last": record("last", "order: 900", "aliases: [old-last]", source="none", mechanism="env"),
    "overlays/step": record("step", STEP.replace("NAME", "step"), "requires: [last]", mechanism="install_script", source=DIR),
    "overlays/talk": record("talk", "chat_template: /etc/talk.jinja", mechanism="chat_template"),
    "overlays/env": record("env", "env: {LEVEL: '9', OWN: 1$}", mechanism="env"),
    "overlays/nobody": record("nobody", mechanism="null", source="unavailable"),
}


def files_of(text: bytes) -> Surroundings:
    """Surroundings in which every overlay of a folder has one file of this content."""

    def payloads(overlay: Overlay, where: Document) -> Payload | str:
        del where
        return payload_of(part_of(file.path, text) for file in overlay.files)

    return Surroundings(TWO_CARDS, payloads=payloads)


AROUND = files_of(b"true\n")


def put_on(
    *names: str, extra: str = "", around: Surroundings = AROUND, shelf: Mapping[str, str] | None = None
) -> ResolvedInstance:
    """An instance with these overlays; `shelf` holds documents that differ."""
    return one(f"{VLLM}, overlays: [{', '.join(names)}]{extra}", around=around, catalogue={**SHELF, **(shelf or {})})


def test_overlays_are_put_on_by_their_order() -> None:
    """Given overlays in any order, when they are resolved, then `order` decides, and what one requires comes with it."""
    assert [use.id for use in put_on("step", "first").overlays] == ["first", "step", "last"]


def test_an_alias_stands_for_the_overlay() -> None:
    """Given an older name, when it is resolved, then the overlay is put on once under its id."""
    assert [use.id for use in put_on("old-last", "last").overlays] == ["last"]


def test_an_entry_adds_to_the_template_and_takes_away_from_it() -> None:
    """Given a template with overlays, when an entry names others and removes one by an alias, then both count."""
    template = CATALOGUE["composes/vllm/any"].replace("parameters:", "overlays: [last, talk]\n  parameters:", 1)
    found = put_on("first", "-old-last", shelf={"composes/vllm/any": template})
    assert [use.id for use in found.overlays] == ["first", "talk"]
    assert "overlays.talk" in found.origins


def test_what_is_required_can_be_left_out() -> None:
    """Given an overlay that requires another, when an entry removes that other one, then it stays off."""
    template = CATALOGUE["composes/vllm/any"].replace("parameters:", "overlays: [step]\n  parameters:", 1)
    assert [use.id for use in put_on("-last", shelf={"composes/vllm/any": template}).overlays] == ["step"]


def test_an_overlay_that_does_not_exist_is_located() -> None:
    """Given a misspelt overlay, when it is resolved, then the error names the place and the right one."""
    (error,) = errors_of(f"{VLLM}, overlays: [fist]", catalogue=SHELF)
    assert error == "estate[0].overlays[0] overlay: there is no overlay fist | did you mean `first`?"


def test_files_are_mounted_by_their_content() -> None:
    """Given files at the source, when they are resolved, then they are read-only mounts named by content, wherever they lie."""
    spec = put_on("first").spec
    (mount,) = (mount for mount in spec.mounts if mount.target == "/opt/fix.py")
    assert mount.read_only
    key = payload_of([replace(part_of("fix.py", b""), sha256=SHA)]).key
    assert mount.source == f"${{STEWARD_OVERLAYS}}/{key}/fix.py"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (put_on("first"), put_on("first", shelf={"overlays/first": record("first", source=fetched(sha="b" * 64))})),
        (put_on("step"), put_on("step", around=files_of(b"false\n"))),
        (put_on("step"), put_on("step", shelf={"overlays/step": SHELF["overlays/step"].replace("run: [sh,", "run: [bash,")})),
        (put_on("env"), put_on("env", shelf={"overlays/env": SHELF["overlays/env"].replace("1$", "2$")})),
        (put_on("talk"), put_on("talk", shelf={"overlays/talk": SHELF["overlays/talk"].replace("talk.jinja", "other.jinja")})),
    ],
    ids=["fetched file", "own file", "step", "variable", "template"],
)
def test_the_spec_hash_covers_the_content(before: ResolvedInstance, after: ResolvedInstance) -> None:
    """Given two contents of one overlay, when they are resolved, then the hashes differ."""
    assert before.spec_hash != after.spec_hash


def test_the_title_of_an_overlay_is_no_drift() -> None:
    """Given a record with another title, note and sentinel, when it is resolved, then the hash is the same."""
    other = SHELF["overlays/first"].replace("title: first", "title: other\nnote: x\ntarget_files: [/opt/fix.py]\nsentinel: y")
    assert put_on("first").spec_hash == put_on("first", shelf={"overlays/first": other}).spec_hash


def test_variables_of_overlays_are_below_all_others() -> None:
    """Given a variable in overlay, template and entry, when they are merged, then the entry's counts, then the template's."""
    assert dict(put_on("env").spec.env) == {"CACHE": "/cache/chat", "LEVEL": "2", "OWN": "1$", "PRICE": "5$"}
    assert dict(put_on("env", extra=", env: {OWN: mine}").spec.env)["OWN"] == "mine"
    assert "OWN" not in dict(put_on("env", extra=", env: {OWN: null}").spec.env)


def test_a_chat_template_is_a_default() -> None:
    """Given an overlay with a chat template, when nobody sets the parameter, then it is given; a template's own wins."""
    argv = put_on("talk").spec.argv
    assert argv[argv.index("--chat-template") + 1] == "/etc/talk.jinja"
    own = CATALOGUE["composes/vllm/any"].replace("api_key: {}", "chat_template: {default: /mine.jinja}", 1)
    assert "/mine.jinja" in put_on("talk", shelf={"composes/vllm/any": own}).spec.argv
    assert put_on("talk").origins["set.chat_template"].source == "overlay"


def test_steps_go_in_front_of_the_engine() -> None:
    """Given an overlay with a step, when it is resolved, then a script starts the engine's entrypoint with its arguments."""
    found = put_on("step")
    assert found.spec.entrypoint == ("sh", START)
    assert found.spec.argv == put_on("first").spec.argv
    text = script_of(found)
    assert "step step stop sh /etc/steward/overlays/step/fix.sh\n" in text
    assert text.endswith('exec vllm serve "$@" $STEWARD_ENGINE_ARGS\n')


def test_the_entrypoint_of_a_template_is_the_one_that_starts_the_engine() -> None:
    """Given a template with an entrypoint, when steps are put in front, then that one is started behind them."""
    template = CATALOGUE["composes/vllm/any"].replace("    command:", "    entrypoint: [python3, 'my engine']\n    command:", 1)
    text = script_of(put_on("step", shelf={"composes/vllm/any": template}))
    assert text.endswith("exec python3 'my engine' \"$@\" $STEWARD_ENGINE_ARGS\n")


def test_steps_need_to_know_what_starts_the_engine() -> None:
    """Given an engine profile without an entrypoint, when an overlay has steps, then the error says where to write it."""
    shelf = {**SHELF, "profiles/engines/vllm": CATALOGUE["profiles/engines/vllm"]}
    (error,) = errors_of(f"{VLLM}, overlays: [step]", around=AROUND, catalogue=shelf)
    assert error.startswith("x-steward.engine overlay: overlay step has steps before the engine starts")
    assert "entrypoint: [...]" in error


def test_on_a_simulated_rig_no_file_is_needed() -> None:
    """Given a simulated rig, when overlays are put on, then neither files nor an entrypoint are asked for."""
    shelf = {**SHELF, "profiles/engines/vllm": CATALOGUE["profiles/engines/vllm"]}
    found = put_on("step", "nobody", "first", around=replace(AROUND, simulated=True), shelf=shelf)
    assert len(found.overlays) == 4
    assert found.payloads == ()


def test_what_a_person_must_bring_is_no_error() -> None:
    """Given overlays of every source, when they are resolved, then each need says what to do, or that nothing is to be done."""
    found = put_on("first", "step", "nobody", "talk")
    remedies = {need.name: need.remedy for need in found.payloads}
    assert remedies == {
        "first": "run `steward overlays fetch first`",
        "step": "",
        "nobody": 'describe its files with source: dir in an overlays/nobody.yml of your own, or leave it out with "-nobody"',
        "start script": "",
    }
    assert [need.name for need in found.payloads if need.payload is None] == ["nobody"]


def test_a_file_that_is_not_beside_its_record_is_no_error() -> None:
    """Given a folder without the file, when it is resolved, then the need says where to put it."""
    around = Surroundings(TWO_CARDS, payloads=lambda overlay, _: f"put {overlay.files[0].path} there")
    assert [need.remedy for need in put_on("step", around=around).payloads if need.name == "step"] == ["put fix.sh there"]


def test_a_wrong_record_is_told_once_at_its_place() -> None:
    """Given a record with a misspelt mechanism, when two instances use it, then it is one error in the record's file."""
    shelf = {**SHELF, "overlays/bad": record("bad", mechanism="file_mount")}
    text = f"estate: [{{{VLLM}, overlays: [bad]}}, {{{VLLM.replace('chat', 'b').replace('8010', '8011')}, overlays: [bad]}}]"
    found = [p for p in problems(text, catalogue=shelf) if p.severity is Severity.ERROR and p.rule == "schema"]
    assert [str(problem.place) for problem in found] == ["overlays/bad.yml:3:12"]
    assert "file_mounts" in found[0].hint


def script_of(instance: ResolvedInstance) -> str:
    """The script that the container starts with."""
    (need,) = (need for need in instance.payloads if need.name == "start script")
    return text_of(need)


def text_of(need: PayloadNeed) -> str:
    """The text of a payload with one file."""
    assert need.payload is not None
    (part,) = need.payload.parts
    assert part.data is not None
    return part.data.decode()
