"""What a demo says, and when: to a pipe, above a table, about an estate that is refused, and once all is ready."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace

import pytest

from controller.cli.demo_guide import Places, guide, opening, request_for
from controller.cli.demo_stage import LiveStage, PlainStage, aged
from controller.cli.demo_teller import Teller
from controller.cli.live_table import LiveTable
from controller.cli.main import main
from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.status import State
from controller.resolve import Surroundings
from tests.fakes.screen import Screen
from tests.unit.resolving import TWO_CARDS, resolved
from tests.unit.shown import CHAT, CODE, FINE, NOW, STATUS

PLACES = Places(".venv/bin/steward", "/d emo/desired/estate.yml", "/d emo/rig.yml", "/d emo/state")
"""A folder with a blank in its name."""
ESTATE = """\
rig: {name: home}    # port: 1, max_model_len: 1
estate:
  - {name: chat, compose: vllm/any, port: 8010, set: {max_model_len: 4096}}
"""
LOADING = replace(FINE, converged=False, instances=(CODE,))
READY = replace(FINE, instances=(CHAT,))
REFUSED = replace(READY, problems=STATUS.problems)


def commands(text: str) -> list[list[str]]:
    """The lines that a person would paste, as a shell takes them apart."""
    return [shlex.split(line) for line in text.splitlines() if line.startswith("    ")]


def test_the_guide_offers_commands_that_fit_the_estate() -> None:
    """Given an estate, when what to try is told, then each command names its own values, and paths survive a shell."""
    text = guide(PLACES, ESTATE, "curl -s http://x/", "chat", 4711)
    assert commands(text) == [
        ["curl", "-s", "http://x/"],
        ["sed", "-i", "s/max_model_len: 4096/max_model_len: 8192/", PLACES.estate],
        ["sed", "-i", "s/port: 8010/prot: 8010/", PLACES.estate],
        ["sed", "-i", "s/prot: 8010/port: 8010/", PLACES.estate],
        ["kill", "-9", "4711"],
        [".venv/bin/steward", "status", "--watch", "--state", PLACES.state],
    ]
    assert "kill the engine of chat" in text


def test_the_guide_offers_nothing_that_cannot_be_done() -> None:
    """Given an estate that cannot be read, no engine to ask and no process, when it is told, then only watching is left."""
    assert [words[1] for words in commands(guide(PLACES, "", "", "", 0))] == ["status"]


def test_the_opening_names_every_place() -> None:
    """Given a demo, when it begins, then estate, rig and address are told, and what is not as usual."""
    lines = opening(PLACES, "127.0.0.1:9000", ["port 8010 is taken"]).splitlines()
    assert [line.split(maxsplit=2)[-1] for line in lines[1:4]] == [
        PLACES.estate,
        PLACES.rig,
        "http://127.0.0.1:9000/api/v1/status",
    ]
    assert lines[4] == "  note: port 8010 is taken"


def test_the_request_goes_to_an_engine_that_answers_without_a_key() -> None:
    """Given a tenant without completions, an engine with a key and one without, when one is shown, then it suits the last."""
    estate = """
estate:
  - {name: web, compose: other/web, image: "w:1", gpus: [], port: 8009}
  - {name: locked, compose: vllm/any, gpus: [0], port: 8010, set: {model_path: m, api_key: {secret: KEY}}}
  - {name: open, compose: vllm/any, gpus: [1], port: 8011, bind: 0.0.0.0, served_names: ["it's", b], set: {model_path: m}}
"""
    around = Surroundings(TWO_CARDS, secret_digest=str)
    words = shlex.split(request_for(resolved(estate, around=around).instances))
    assert words[:3] == ["curl", "-s", "http://127.0.0.1:8011/v1/completions"]
    assert words[-1] == '{"model": "it\'s", "prompt": "hello", "max_tokens": 8}'
    assert request_for(()) == ""


@dataclass
class Pipe:
    """What came out of it; once closed it raises as pipes do."""

    texts: list[str] = field(default_factory=list)
    left: int = 0
    closed: bool = False

    def print(self, text: str) -> None:
        """Keep it."""
        if self.closed:
            raise BrokenPipeError
        self.texts.append(text)

    def leave(self) -> None:
        """Nobody reads any more."""
        self.left += 1

    @property
    def tables(self) -> int:
        """How often the table was printed."""
        return sum("NAME " in text for text in self.texts)


@pytest.fixture
def pipe() -> Pipe:
    """One that somebody reads."""
    return Pipe()


def plain(pipe: Pipe) -> PlainStage:
    """A stage on it."""
    return PlainStage(pipe.print, pipe.leave, 100)


def test_a_pipe_gets_the_table_once_all_has_settled(pipe: Pipe) -> None:
    """Given a pipe, when engines load, are ready and are asked again, then the table comes once, and again after a change."""
    stage = plain(pipe)
    for status in (LOADING, READY, replace(READY, instances=(replace(CHAT, tps=1.0),))):
        stage.show(status)
    assert pipe.tables == 1
    stage.show(replace(READY, converged=False, instances=(replace(CHAT, ready=False, state=State.STARTING),)))
    assert pipe.tables == 1
    stage.show(READY)
    assert pipe.tables == 2
    assert not any("\x1b" in text for text in pipe.texts)


def test_a_pipe_that_nobody_reads_ends_the_demo(pipe: Pipe) -> None:
    """Given a reader who has left, when something is said, then the demo is asked to end and nothing is raised."""
    pipe.closed = True
    plain(pipe).say("anyone?")
    assert pipe.left == 1


def test_the_guide_comes_once_all_engines_are_ready(pipe: Pipe) -> None:
    """Given engines that load, when all are ready, then the guide comes below the table, and never again."""
    teller = Teller(plain(pipe), color=False, guide=lambda status: f"try {status.instances[0].name}")
    for status in (replace(READY, instances=()), LOADING, replace(READY, instances=(CHAT, CODE)), READY, LOADING, READY):
        teller.show(status)
    assert pipe.texts.count("try chat") == 1
    assert pipe.texts.index("try chat") == 2


def test_a_refused_estate_is_told_with_every_problem(pipe: Pipe) -> None:
    """Given an estate that is refused twice and then mended, when it is told, then each refusal has all places and hints."""
    teller = Teller(plain(pipe), color=False)
    teller.show(READY)
    for _ in range(2):
        teller.event(Event(NOW, "RevisionRefused", "a long sentence", level="error"))
        teller.show(REFUSED)
        teller.show(REFUSED)
    teller.show(READY)
    text = "\n".join(pipe.texts)
    assert text.count("RevisionRefused    error: the estate is refused, the last accepted one stays in force\n") == 2
    assert text.count("desired/estate.yml:7:5: error: unknown key `prot`") == 2
    assert text.count("hint: did you mean `port`?") == 2
    assert pipe.texts[-1] == "the estate is mended, and is the one in force already"


def test_an_estate_that_is_mended_by_a_new_revision_needs_no_word(pipe: Pipe) -> None:
    """Given a refused estate, when the next revision is accepted, then only the journal says so."""
    teller = Teller(plain(pipe), color=False)
    teller.event(Event(NOW, "SourceUnreadable", "no such file", level="warning"))
    teller.show(REFUSED)
    teller.show(replace(READY, accepted="another"))
    assert not any("mended" in text for text in pipe.texts)


class Later:
    """A clock three seconds after the status."""

    def now(self) -> Instant:
        """The present."""
        return replace(NOW, mono=NOW.mono + 3)


def test_the_live_table_goes_on_between_two_passes() -> None:
    """Given a status from three seconds ago, when it is painted, then ages are three seconds more; the foot is the last row."""
    screen = Screen(100, 20)
    table = LiveTable(screen)
    stage = LiveStage(table, Later(), "the foot", color=False)
    stage.show(replace(READY, instances=(replace(CHAT, age_s=41.0), replace(CODE, age_s=None))))
    stage.say("a line")
    table.paint()
    assert screen.shown[0] == "a line"
    assert screen.shown[-1] == "the foot"
    assert next(row for row in screen.shown if row.startswith("chat")).endswith("  44s")
    assert next(row for row in screen.shown if row.startswith("code")).endswith("  -")
    assert aged(READY, 0.0) == READY


@pytest.mark.parametrize("flag", ["estate", "rig", "state", "profiles"])
def test_flags_that_a_demo_decides_itself_are_refused(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Given a flag that would put the demo on one's own rig, when it is used, then one sentence says why not."""
    assert main(["demo", f"--{flag}", "x"]) == 64
    assert f"--{flag} is none of its flags; --dir DIR names" in capsys.readouterr().err
