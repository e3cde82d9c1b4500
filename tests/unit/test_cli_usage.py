"""The frame of the command line: help, flags, did-you-mean, exit codes, and streams that are not as one expects."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from controller.cli.arguments import MOST_LINES
from controller.cli.main import EXIT_CODES, GLOBAL_FLAGS, main
from controller.cli.verbs import ALSO, VERBS
from tests.unit.cli import ESTATE, Steward


def test_without_a_verb_the_overview_is_an_error(steward: Steward) -> None:
    """Given no arguments, when steward is called, then the overview goes to stderr and the exit code is 64."""
    ended = steward()
    assert (ended.code, ended.out) == (64, "")
    assert all(name in ended.err for name in VERBS)


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_names_every_verb_flag_and_exit_code(steward: Steward, word: str) -> None:
    """Given a call for help, when it is answered, then verbs, flags and exit codes are all there and the code is 0."""
    ended = steward(word)
    assert ended.code == 0
    assert all(f"\n  {name} " in ended.out for name in VERBS)
    assert all(f"--{flag}" in ended.out for flag in GLOBAL_FLAGS)
    assert all(text in ended.out for text in EXIT_CODES.values())


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_help(steward: Steward, name: str) -> None:
    """Given a verb, when its help is asked for in either way, then both are the same and the code is 0."""
    ended = steward(*name.split(), "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"usage: steward {name} ")
    assert steward("help", *name.split()).out == ended.out


@pytest.mark.parametrize("name", ALSO)
def test_a_second_name_is_the_same_verb(steward: Steward, name: str) -> None:
    """Given a verb below its noun, when it is called, then it is the verb at the top level; flags may stand before it."""
    assert steward(*name.split(), "--help").out == steward(ALSO[name], "--help").out
    assert steward("--rig", "sim", *name.split(), "--frob").err == steward(ALSO[name], "--frob").err


def test_a_noun_lists_its_verbs(steward: Steward) -> None:
    """Given a noun alone, when its help is asked for, then its verbs are listed; without that it is half a verb."""
    ended = steward("rig", "--help")
    assert ended.code == 0
    assert [line.split("  ")[1] for line in ended.out.splitlines() if line.startswith("  ")] == ["rig doctor", "rig topology"]
    assert steward("help", "rig").out == ended.out


def test_the_version_is_told(steward: Steward) -> None:
    """Given --version, when it is answered, then name and version are one line."""
    ended = steward("--version")
    assert ended.code == 0
    assert ended.out.startswith("steward ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("statsu",), "there is no verb `statsu`; did you mean `steward status`?"),
        (("rig",), "`steward rig` needs one more word: `rig doctor`, `rig topology`"),
        (("rig", "topologi"), "there is no verb `rig topologi`; did you mean `steward rig topology`?"),
        (("rig", "xyzzy"), "there is no verb `rig xyzzy`; `steward --help` lists them"),
        (("xyzzy",), "there is no verb `xyzzy`; `steward --help` lists them"),
        (("--frob", "plan"), "expected a verb, found --frob"),
        (("plan", "--frob"), "unrecognized arguments: --frob"),
        (("status", "--verb"), "unrecognized arguments: --verb"),
        (("validate", "--rig"), "argument --rig: expected one argument"),
        (("validate", "--output", "xml"), "invalid choice: 'xml'"),
        (("schema", "rig"), "invalid choice: 'rig'"),
        (("explain",), "the following arguments are required: NAME"),
        (("start",), "name the instances to start, or all of them with --all, but not both"),
        (("start", "chat", "--all"), "name the instances to start, or all of them with --all, but not both"),
        (("stop",), "name the instances to stop, or a card with --gpu, but not both"),
        (("stop", "chat", "--gpu", "0"), "name the instances to stop, or a card with --gpu, but not both"),
        (("stop", "chat", "--for", "3"), "argument --for: expected a duration such as 250ms, 5s, 10m, 4h or 2d, found '3'"),
        (("stop", "chat", "--for", "0s"), "argument --for: expected a duration above zero, found '0s'"),
        (("logs", "chat", "--tail", "0"), f"argument --tail: expected a whole number from 1 to {MOST_LINES}, found '0'"),
        (("events", "--tail", "all"), "found 'all'"),
        (("wait", "chat", "--for", "peace"), "invalid choice: 'peace'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_command_line_is_told_in_one_sentence(steward: Steward, words: tuple[str, ...], said: str) -> None:
    """Given a command line with a mistake, when it is called, then one sentence names it and the code is 64."""
    ended = steward(*words)
    assert (ended.code, ended.out) == (64, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("words", [("--estate", "desired"), ("--estate=desired",), ("--estate", "desired", "--rig=sim")])
def test_flags_may_stand_before_the_verb(steward: Steward, words: tuple[str, ...]) -> None:
    """Given flags of every verb in front, when the verb is called, then they count as if they were behind it."""
    steward.write(ESTATE)
    before, behind = steward(*words, "explain", "chat"), steward("explain", "chat", *words)
    assert before.code == 0
    assert before.out == behind.out


def test_the_environment_gives_what_no_flag_does(steward: Steward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given STEWARD_RIG, when a verb is called with and without --rig, then the flag wins."""
    steward.write(ESTATE)
    monkeypatch.setenv("STEWARD_RIG", "2x:rtx-9999")
    assert steward("validate").code == 64
    assert steward("validate", "--rig", "2x:rtx-3090").code == 0


def test_a_reader_that_leaves_is_no_failure(steward: Steward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given `steward schema | head -1`, when the pipe is closed, then the verb ends with 0 and without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert main(["schema"]) == 0


def test_a_full_disk_is_told(steward: Steward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given stdout on a full disk, when a verb prints, then it says so and the code is 3."""
    with suppress(OSError), Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["schema"]) == 3
    assert "steward: No space left on device" in steward.captured.readouterr().err


def test_a_terminal_without_the_character_shows_a_question_mark(steward: Steward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a terminal that knows ASCII only, when another character is printed, then the verb goes on."""
    steward.write("estate: [{name: chät}]\n")
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    assert main(["validate"]) == 1
    narrow.flush()
    assert b"ch?t" in narrow.buffer.getvalue()


def test_closed_streams_take_everything_silently(steward: Steward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given `steward schema >&- 2>&-`, when it runs, then it ends with its own exit code."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["schema"]) == 0
    assert main(["bogus"]) == 64
    for stream in (sys.stdout, sys.stderr):
        stream.close()
