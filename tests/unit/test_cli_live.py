"""The verbs that need an engine or a store, where there is none, and the parts of them that can be asked without one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from controller.app.world import Parts
from controller.app.writer import writer_pid
from controller.cli.follow import event_of, problem_of, step_of
from controller.cli.logs import fresh
from controller.cli.output import UNCUT, has_color, width
from controller.cli.waiting import Waits, is_booting
from controller.errors import EngineUnreachable
from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.plan import Action, Cause, Step
from controller.model.problem import Place, Problem, Severity
from controller.settings import load
from controller.store.lock import lock_path
from controller.store.sqlite import SqliteStore
from observability.documents import event_document, plan_document, validate_document
from tests.unit.cli import ESTATE, NO_DOCKER, Steward
from tests.unit.shown import PLAN

OUT_OF_REACH = f"the Docker engine at {NO_DOCKER} does not answer"


@pytest.mark.parametrize(
    "verb", [("plan",), ("plan", "--output", "json"), ("apply",), ("stop", "chat"), ("down",), ("logs", "chat")]
)
def test_without_an_engine_a_verb_says_so(steward: Steward, verb: tuple[str, ...]) -> None:
    """Given no Docker engine, when a verb needs one, then one sentence names it, nothing is on stdout and the code is 3."""
    steward.write(ESTATE)
    ended = steward(*verb)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"steward: {OUT_OF_REACH}")
    assert ended.err.count("\n") == 1


def test_status_without_an_engine_still_shows_the_estate(steward: Steward) -> None:
    """Given no Docker engine, when the status is asked for, then it shows what is known and the code is 3."""
    steward.write(ESTATE)
    ended = steward("status")
    assert ended.code == 3
    assert ended.err == "no controller runs; this is one look at the engine\n"
    assert "EngineReachable False" in ended.out
    assert "chat" in ended.out
    document = json.loads(steward("status", "--output", "json").out)
    assert [instance["name"] for instance in document["instances"]] == ["chat", "embed"]


def test_status_shows_what_is_in_force_while_the_estate_is_refused(steward: Steward) -> None:
    """Given an accepted revision and a broken file, when the status is asked for, then it shows the accepted one."""
    steward.write(ESTATE)
    accept(steward)
    steward.write("estate: [{name: chat}]\n")
    ended = steward("status")
    assert "ConfigAccepted False (Refused): desired/estate.yml:1:10" in ended.out
    assert "embed" in ended.out
    assert steward("plan").code == 1


def accept(steward: Steward) -> None:
    """Let the store know the estate on disk as the accepted revision."""
    from controller.app.files import source_of

    settings = load({})
    found = source_of(settings).read()
    assert not isinstance(found, tuple)
    store = SqliteStore(settings.store, settings.bounds)
    store.accept(found, Instant(1.0, 1.0))
    store.close()


@pytest.mark.parametrize(
    "verb", ["plan", "apply", "run", "status", "logs", "stop", "start", "down", "doctor"], ids=lambda verb: str(verb)
)
def test_a_rig_of_facts_cannot_be_run(steward: Steward, verb: str) -> None:
    """Given a rig that is only a text, when a verb needs a real one, then it says which verbs do not; the code is 64."""
    steward.write(ESTATE)
    names = ["chat"] if verb in ("logs", "stop", "start") else []
    ended = steward(verb, *names, "--rig", "2x:rtx-3090")
    assert ended.code == 64
    assert "use --rig auto" in ended.err


def test_wait_says_how_it_stands_and_gives_up(steward: Steward) -> None:
    """Given an instance that is not there, when it is waited for, then the end says how it stands and the code is 1."""
    steward.write(ESTATE)
    ended = steward("wait", "embed", "--timeout", "0s")
    assert ended.code == 1
    assert ended.err.startswith("steward: embed is not ready after 0 s: ")
    assert steward("wait", "embde", "--timeout", "0s").code == 64


def test_an_instance_that_is_nowhere_is_gone(steward: Steward) -> None:
    """Given a name that the estate does not have, when it is waited for to be gone, then it is."""
    steward.write(ESTATE)
    ended = steward("wait", "other", "--for", "gone", "--timeout", "0s")
    assert (ended.code, ended.out) == (0, "other is gone\n")


def test_there_is_no_journal_before_the_first_run(steward: Steward) -> None:
    """Given a fresh state folder, when the journal is asked for, then the sentence says what begins one."""
    ended = steward("events")
    assert ended.code == 1
    assert "`steward run` or `steward apply` begins one" in ended.err


def journal(steward: Steward, count: int) -> None:
    """A journal in which every second line is about `chat`."""
    settings = load({})
    store = SqliteStore(settings.store, settings.bounds)
    for number in range(count):
        instance = "chat" if number % 2 else "embed"
        store.append(Event(Instant(1_700_000_000.0 + number, 0.0), "ActionDone", f"line {number}", instance))
    store.close()


def test_events_prints_the_last_lines(steward: Steward) -> None:
    """Given a journal, when its last three lines are asked for, then they come oldest first."""
    journal(steward, 10)
    lines = steward("events", "--tail", "3").out.splitlines()
    assert [line.split(": ")[-1] for line in lines] == ["line 7", "line 8", "line 9"]
    assert lines[0].startswith("2023-11-14T22:13:27.000Z  ActionDone ")


def test_events_of_one_instance_are_counted_by_themselves(steward: Steward) -> None:
    """Given a journal of two instances, when three lines of one are asked for, then three come."""
    journal(steward, 10)
    ended = steward("events", "--instance", "chat", "--tail", "3")
    assert [line.split(": ")[-1] for line in ended.out.splitlines()] == ["line 5", "line 7", "line 9"]
    nobody = steward("events", "--instance", "other")
    assert (nobody.code, nobody.out, nobody.err) == (0, "", "steward: the journal has no line about other\n")


def test_events_as_json_are_one_document_a_line(steward: Steward) -> None:
    """Given a journal, when it is asked for as JSON, then each line is a document by itself."""
    journal(steward, 4)
    lines = steward("events", "--output", "json").out.splitlines()
    assert [json.loads(line)["message"] for line in lines] == [f"line {number}" for number in range(4)]


def test_a_state_folder_that_is_a_file(steward: Steward) -> None:
    """Given a file where the state folder should be, when verbs need it, then each says so and none has a traceback."""
    steward.write(ESTATE)
    (steward.folder / "state").write_text("")
    for verb, code in ((("events",), 1), (("status",), 3), (("plan",), 3)):
        ended = steward(*verb)
        assert ended.code == code
        assert ended.err.startswith("steward: ")


def test_a_damaged_store_is_told_with_the_way_out(steward: Steward) -> None:
    """Given a state database that is none, when a verb reads it, then the sentence says what sets it aside; the code is 1."""
    steward.write(ESTATE)
    (steward.folder / "state").mkdir()
    (steward.folder / "state" / "steward.db").write_text("garbage")
    for verb in ("status", "events"):
        ended = steward(verb)
        assert ended.code == 1
        assert "`steward apply` sets it aside" in ended.err


def test_documents_of_the_api_come_back_as_they_were() -> None:
    """Given a journal line, a step and a problem, when they go through their JSON documents, then what is shown is the same."""
    event = Event(Instant(1_700_000_000.5, 0.0), "ActionDone", "stop", "chat", "why", "7-1", "warning", 12)
    assert event_of(cast(dict[str, Any], event_document(event))) == event
    back = [step_of(document) for document in cast(list[dict[str, Any]], plan_document(PLAN)["steps"])]
    assert [(s.id, s.action, s.instance, s.cause, s.after, s.waiting_for) for s in back] == [
        (s.id, s.action, s.instance, s.cause, s.after, s.waiting_for) for s in PLAN.steps
    ]
    problem = Problem(Severity.WARNING, "E1", "text", "hint", "estate[0]", Place("a.yml", 3, 4))
    for each in (problem, replace(problem, place=None)):
        (document,) = validate_document((each,))["problems"]
        assert problem_of(cast(dict[str, Any], document)) == each


WAIT = Step("start:chat", Action.START, "chat", Cause("container"), waiting_for="restart 1 in 9 s")


def test_a_wait_is_told_once_after_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    """Given a step whose wait counts down, when time passes, then it is told once, and not before three seconds."""
    waits = Waits(15.0)
    for second in range(8):
        waits.tell([replace(WAIT, waiting_for=f"restart 1 in {9 - second} s")], Instant(1_700_000_000.0, float(second)))
        assert capsys.readouterr().err.count("chat: start waits for restart 1 in 6 s") == int(second == 3)


def test_only_the_first_wait_of_an_instance_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Given an instance whose steps all wait, when time passes, then only the first is told."""
    later = replace(WAIT, id="wait-ready:chat", action=Action.WAIT_READY, waiting_for="the same")
    waits = Waits(15.0)
    for second in (0.0, 4.0):
        waits.tell([WAIT, later], Instant(1_700_000_000.0, second))
    assert capsys.readouterr().err.count("\n") == 1


def test_patience_ends_when_nothing_moves() -> None:
    """Given a plan that stands still, when it moves for a moment, then the patience begins anew."""
    waits = Waits(15.0)
    told = [waits.is_over(Instant(0.0, float(at)), moving=at == 10) for at in (0, 10, 11, 25, 26)]
    assert told == [False, False, False, False, True]


def test_a_boot_is_a_wait_that_has_begun() -> None:
    """Given readiness that is waited for, when the engine boots already, then it counts as booting."""
    waiting = replace(WAIT, action=Action.WAIT_READY)
    assert is_booting(waiting)
    assert not is_booting(replace(waiting, waiting_for=None))
    assert not is_booting(WAIT)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("abc", "abcd", "d"),
        ("abc", "bcde", "de"),
        ("abc", "xyz", "xyz"),
        ("", "ab", "ab"),
        ("aab", "abab", "ab"),
        ("abc", "abc", ""),
    ],
)
def test_only_new_lines_of_a_log_are_printed(before: str, after: str, expected: str) -> None:
    """Given two looks at a log that moves, when they are compared, then only what came in between is new."""
    assert fresh(tuple(before), tuple(after)) == tuple(expected)


def test_a_last_line_that_grew_comes_again() -> None:
    """Given progress dots without a line end, when more of them come, then that line alone is printed again."""
    assert fresh(("loading", "..."), ("loading", ".....")) == (".....",)
    assert fresh(("a", "..."), ("...", "done")) == ("done",)
    assert fresh(("a", "..."), ("....", "done")) == ("....", "done")


def test_width_and_colour_of_what_is_no_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Given a pipe, when text is printed, then nothing is cut and nothing coloured, unless COLUMNS says how wide it is."""
    monkeypatch.delenv("COLUMNS", raising=False)
    assert (width(), has_color()) == (UNCUT, False)
    monkeypatch.setenv("COLUMNS", "72")
    assert width() == 72


class Engine:
    """An engine with a name, or none that answers."""

    def __init__(self, name: str | None) -> None:
        """None: it does not answer."""
        self.name = name

    def engine_id(self) -> str:
        """Its name; raises EngineUnreachable."""
        if self.name is None:
            raise EngineUnreachable("no answer")
        return self.name


class World:
    """The one port that is asked here."""

    def __init__(self, engine: str | None) -> None:
        """With that engine."""
        self.containers = Engine(engine)


def parts(engine: str | None) -> Parts:
    """Parts of which only the containers are asked."""
    return Parts(cast(Any, World(engine)), cast(Any, None), cast(Any, None), cast(Any, None))


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_the_writer_of_a_rig_is_seen_without_its_lock_being_touched(steward: Steward) -> None:
    """Given a process that holds a rig's lock, when it is looked for, then its pid is found, and nobody once it has ended."""
    settings = load({})
    path: Path = lock_path(settings, "engine", "home")
    path.parent.mkdir()
    answering, silent = parts("engine"), parts(None)
    assert writer_pid(settings, answering, "home") is None
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        assert writer_pid(settings, answering, "home") == holder.pid
        assert writer_pid(settings, answering, "other") is None
        assert writer_pid(settings, silent, "home") is None
        holder.stdin.close()
        holder.wait(10)
    assert writer_pid(settings, answering, "home") is None
