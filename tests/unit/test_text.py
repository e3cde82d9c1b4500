"""What people read: golden texts, and rows that never wrap."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from controller.model.events import Event
from controller.model.plan import Action, Cause, Plan, Step
from controller.model.problem import Place, Problem, Severity
from controller.model.reading import Known
from controller.model.status import Condition, State, Status, Truth
from observability.text import events_text, github_annotations, plan_text, problems_text, status_text
from observability.text.cells import columns, cut
from observability.text.units import age
from observability.text.why import SENTENCES
from tests.unit.shown import CARDS, CHAT, CODE, EMBED, FINE, GIB, NOW, PAINT, PLAN, STATUS

NARROW = """\
rig home: not converged, 5 steps left
revision: 77aa88bb99cc wanted, 3f2a1b2c4d5e accepted
ConfigAccepted False (Refused): desired/estate.yml:7:5: unk…
note: nobody answers on port 8013

NAME   READY  STATE     GPUS          PORT  REV        TPS …
chat   yes    Ready     0             8010  3f2a1b2c  41.2 …
code   no     Starting  1             8011  3f2a1b2c     - …
  why: next: create (max_model_len: 4096 -> 8192)
paint  no     Stopped   none          8012  3f2a1b2c     - …
  why: stop by ann: gaming tonight
embed  no     Stalled   GPU-gone-000  8013  -            - …
  why: UnknownFlag: the engine refuses --frobnicate; not tr…
"""
MIDDLE = """\
rig home: not converged, 5 steps left
revision: 77aa88bb99cc wanted, 3f2a1b2c4d5e accepted
ConfigAccepted False (Refused): desired/estate.yml:7:5: unknown key `prot`
note: nobody answers on port 8013

NAME   READY  STATE     GPUS          PORT  REV        TPS  VRAM    RESTARTS  AGE
chat   yes    Ready     0             8010  3f2a1b2c  41.2  21.0/-         2  3h20m
code   no     Starting  1             8011  3f2a1b2c     -  -              0  45s
  why: next: create (max_model_len: 4096 -> 8192)
paint  no     Stopped   none          8012  3f2a1b2c     -  -              0  -
  why: stop by ann: gaming tonight
embed  no     Stalled   GPU-gone-000  8013  -            -  -              0  -
  why: UnknownFlag: the engine refuses --frobnicate; not tried again until the spec changes or `ste…
"""
WIDE = MIDDLE.replace("`ste…", "`steward start embed`")
CONVERGED = """\
rig home: converged
revision: 3f2a1b2c4d5e, accepted

NAME  READY  STATE  GPUS  PORT  REV        TPS  VRAM    RESTARTS  AGE
chat  yes    Ready  0     8010  3f2a1b2c  41.2  21.0/-         2  3h20m
"""
VERBOSE = """\
rig home: converged
revision: 3f2a1b2c4d5e, accepted
SourceReady True (Read)
ConfigAccepted True (Accepted)

NAME  READY  STATE  GPUS  PORT  REV        TPS  VRAM    RESTARTS  AGE
chat  yes    Ready  0     8010  3f2a1b2c  41.2  21.0/-         2  3h20m
  http://127.0.0.1:8010/v1  vllm/generic  qwen
  tokens generated: 1000, tokens read: 50, requests running: 1, requests waiting: 0
  Ready True (Serving)
  Synced True (AsResolved)

GPU  CARD                     MEMORY         POWER      TEMP  BUSY  INSTANCES  UUID
0    NVIDIA GeForce RTX 3090  21.5/24.0 GiB  245/280 W  61 C  93%   chat       GPU-5157e3a0-0000-40…
1    NVIDIA GeForce RTX 3090  -/24.0 GiB     -/- W      -     -     code       GPU-5157e3a0-0000-40…
"""
PLANNED = """\
plan: 5 steps: 1 ready, 1 waiting, 3 later
1. create  code   max_model_len: 4096 -> 8192
2. drain   code   max_model_len: 4096 -> 8192
   after 1
   drain: best effort, new requests may still arrive
3. stop    code   max_model_len: 4096 -> 8192
   after 1, 2
4. start   code   max_model_len: 4096 -> 8192
   after 3
5. pull    embed  image: x:1
   waiting for registry: no answer (try 3 in 8s)
note: nobody answers on port 8013
"""
PROBLEMS = """\
desired/estate.yml:7:5: error: unknown key `prot` [unknown-key]
    at: estate[0]
    hint: did you mean `port`?
warning: no digest [image-digest]
    at: estate[0].image
not valid: 1 error, 1 warning
"""
SLOW = "E3: no pair; waived until 2027-01-01T00:00:00.000Z: slow is fine"
WARNED = replace(FINE, instances=(replace(CHAT, warnings=("C12: tight", SLOW), waived=("E3",)),))
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def shown(status: Status, width: int = 160, *, verbose: bool = False) -> str:
    """The status without colour."""
    return status_text(status, width=width, color=False, verbose=verbose)


@pytest.mark.parametrize(("width", "expected"), [(60, NARROW), (100, MIDDLE), (160, WIDE)])
def test_status_reads_the_same_at_every_width(width: int, expected: str) -> None:
    """Given a rig in trouble, when it is shown at a width, then it reads as agreed."""
    assert shown(STATUS, width) == expected


def test_a_fine_rig_has_no_why_lines() -> None:
    """Given a converged rig, when it is shown, then a row stands alone; -v adds URL, conditions and cards."""
    assert shown(FINE, 100) == CONVERGED
    assert shown(FINE, 100, verbose=True) == VERBOSE


def test_what_rules_have_against_an_instance_stands_below_its_row() -> None:
    """Given an instance that rules warn of, when it is shown, then the first stands below its row, and with -v all of them."""
    line = "  warning: C12: tight (and 1 more: `steward explain chat`)"
    assert shown(WARNED, 100) == CONVERGED + line + "\n"
    lines = shown(WARNED, 100, verbose=True).splitlines()
    assert "  warning: C12: tight" in lines
    assert f"  warning: {SLOW}" in lines
    assert shown(WARNED, 50).splitlines()[-1] == "  warning: C… (and 1 more: `steward explain chat`)"


@pytest.mark.parametrize("width", [1, 5, 20, 37, 60, 81, 100, 200])
@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("status", [STATUS, WARNED], ids=["in trouble", "warned"])
def test_no_line_is_wider_than_the_terminal(width: int, verbose: bool, status: Status) -> None:
    """Given any width, when the rig is shown with or without colour, then no line is wider and both say the same."""
    plain = shown(status, width, verbose=verbose)
    colored = status_text(status, width=width, color=True, verbose=verbose)
    assert max(columns(line) for line in plain.splitlines()) <= width
    stripped = [line.rstrip() for line in ANSI.sub("", colored).splitlines()]
    assert stripped == [line.rstrip() for line in plain.splitlines()]


def test_colour_only_when_asked() -> None:
    """Given a terminal that takes no colour, when anything is shown, then there is no escape sequence, not even from a log."""
    assert "\x1b" not in shown(STATUS) + shown(STATUS, verbose=True) + problems_text(STATUS.problems, color=False)
    assert "\x1b[" in status_text(STATUS, width=100, color=True, verbose=False)
    assert "\x1b[31merror\x1b[0m" in problems_text(STATUS.problems, color=True)


def test_what_is_not_known_is_a_dash() -> None:
    """Given an instance of which nothing is known, when it is shown, then its figures are dashes and not zeros."""
    row = next(line for line in shown(STATUS).splitlines() if line.startswith("embed"))
    assert row.split()[5:8] == ["-", "-", "-"]
    assert row.split()[-1] == "-"


def test_memory_of_a_shared_card_is_nobodys() -> None:
    """Given a card that two instances share, when they are shown, then its memory is told for neither."""
    shared = replace(FINE, card_users={CARDS[0].uuid: ("chat", "code")})
    assert "21.0" not in shown(shared)


def test_memory_of_all_cards_of_an_instance_is_summed() -> None:
    """Given an instance on two cards, when it is shown, then its memory is the sum without what is foreign."""
    second = replace(CARDS[1], memory_used=Known(10 * GIB))
    chat = replace(CHAT, gpus=tuple(card.uuid for card in CARDS))
    users = {card.uuid: ("chat",) for card in CARDS}
    text = shown(replace(FINE, instances=(chat,), cards=(CARDS[0], second), card_users=users))
    assert "31.0/-" in text
    assert "0,1" in text


@pytest.mark.parametrize("state", [state for state in State if state is not State.STOPPED])
def test_every_state_that_is_not_fine_says_why(state: State) -> None:
    """Given a row that does not serve and has no reason of its own, when it is shown, then its state is explained."""
    text = shown(replace(FINE, instances=(replace(CHAT, state=state, ready=False),)))
    assert f"  why: {SENTENCES[state]}\n" in text


def test_a_stopped_instance_that_the_estate_wants_stopped_is_fine() -> None:
    """Given `state: stopped` in the estate, when the stopped instance is shown, then there is nothing to explain."""
    assert "why" not in shown(replace(FINE, instances=(replace(PAINT, why=""),)))


def test_a_waiting_step_is_the_reason() -> None:
    """Given an instance whose step waits, when it is shown, then the row names what it waits for."""
    step = Step("s", Action.START, "code", Cause("new"), waiting_for="port 8011, held by pid 7 (nginx)")
    text = shown(replace(FINE, converged=False, instances=(CODE,), plan=Plan((step,))))
    assert "  why: start waits for port 8011, held by pid 7 (nginx)\n" in text


def test_a_condition_that_is_an_exception_is_the_reason() -> None:
    """Given a ready instance whose image moved, when it is shown, then the row says so."""
    moved = Condition("ImageMoved", Truth.TRUE, "TagMoved", "the tag a:1 points to another image")
    text = shown(replace(FINE, instances=(replace(CHAT, conditions=(moved,)),)))
    assert "  why: ImageMoved: the tag a:1 points to another image\n" in text


def test_a_rig_without_an_estate_says_so() -> None:
    """Given that no revision was ever accepted, when the rig is shown, then that is told instead of an empty table."""
    nothing = Status("rig", NOW, "77aa88bb99cc", "", False)
    assert shown(nothing) == (
        "rig rig: not converged\nrevision: 77aa88bb99cc wanted, none accepted\n\nno estate is in force yet\n"
    )
    assert "the estate in force has no instance" in shown(replace(nothing, accepted="77aa88bb99cc"))


def test_observe_mode_is_told() -> None:
    """Given a rig that only plans, when it is shown, then the reader learns that nothing will be changed."""
    assert "mode observe: plans and reports, changes nothing\n" in shown(replace(FINE, mode="observe"))


def test_a_cut_text_never_splits_a_wide_character() -> None:
    """Given characters of two columns, when a text is cut, then it fits and ends with an ellipsis."""
    assert cut("模型模型", 5) == "模型…"
    assert cut("模型模型", 4) == "模…"
    assert cut("abc", 0) == ""
    assert columns("e\u0301a") == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.4, "0s"), (119, "119s"), (120, "2m"), (3599, "59m"), (3600, "1h0m"), (90_000, "1d1h")],
)
def test_ages_have_one_or_two_units(seconds: float | None, text: str) -> None:
    """Given a time span, when it is shown, then it has its largest units."""
    assert age(seconds) == text


def test_plan_reads_as_agreed() -> None:
    """Given a plan, when it is printed, then order, cause, dependencies and waits read as agreed."""
    assert plan_text(PLAN) == PLANNED


def test_an_empty_plan_says_that_nothing_is_left() -> None:
    """Given nothing to do, when the plan is printed, then it says so; with a note it claims nothing."""
    assert plan_text(Plan()) == "plan: nothing is left to do\n"
    assert plan_text(Plan(notes=("the engine is not readable",))) == "plan: no steps\nnote: the engine is not readable\n"


def test_step_numbers_stay_aligned_and_after_is_sorted() -> None:
    """Given more than nine steps, when the plan is printed, then numbers are aligned and `after` counts upwards."""
    steps = [Step(f"s{n}", Action.STOP, "a", Cause("x")) for n in range(10)]
    steps.append(Step("last", Action.PRUNE, "a", Cause("gone"), after=("s9", "s1", "elsewhere")))
    lines = plan_text(Plan(tuple(steps))).splitlines()
    assert lines[1].startswith(" 1. stop   a  x")
    assert lines[11:] == ["11. prune  a  gone", "    after 2, 10"]


def test_problems_read_as_agreed() -> None:
    """Given problems, when they are printed, then an editor can link them and the counts come last."""
    assert problems_text(STATUS.problems, color=False) == PROBLEMS
    assert problems_text((), color=False) == "valid: no problems\n"
    notes = [Problem(Severity.INFO, "", "a"), Problem(Severity.INFO, "", "b")]
    assert problems_text(notes, color=False) == "info: a\ninfo: b\nvalid: 2 notes\n"


def test_annotations_are_escaped() -> None:
    """Given text with all that a workflow command reserves, when it is annotated, then nothing breaks out of its place."""
    problem = Problem(Severity.ERROR, "r,1", "100% of\nlines: bad", "see a::b", "x[0]", Place("a,b:c.yml", 3, 4))
    expected = "::error file=a%2Cb%3Ac.yml,line=3,col=4,title=r%2C1::x[0]: 100%25 of%0Alines: bad%0Ahint: see a::b\n"
    assert github_annotations([problem]) == expected
    soft = [Problem(Severity.INFO, "", "n"), Problem(Severity.WARNING, "", "w")]
    assert github_annotations(soft) == "::warning::w\n::notice::n\n"
    assert github_annotations([]) == ""


def test_events_are_one_line_each() -> None:
    """Given journal lines, when they are printed, then each is one line with its cause, and a newline cannot forge another."""
    events = (
        Event(NOW, "ActionDone", "stop: done", "chat", "image: a -> b"),
        Event(NOW, "PassFailed", "no answer\n2027 forged", level="error"),
    )
    assert events_text(events) == (
        "2027-01-15T08:00:00.000Z  ActionDone         chat: stop: done (image: a -> b)\n"
        "2027-01-15T08:00:00.000Z  PassFailed         error: no answer 2027 forged\n"
    )
    assert events_text(()) == ""


def test_brief_events_have_the_time_of_the_day() -> None:
    """Given a journal line, when it is printed in brief, then it begins with the hour, minute and second of this place."""
    (line,) = events_text((Event(NOW, "ActionDone", "stop: done", "chat"),), brief=True).splitlines()
    assert re.fullmatch(r"\d\d:\d\d:00  ActionDone         chat: stop: done", line)


def test_a_row_of_every_kind_is_shown() -> None:
    """Given four instances, when they are shown, then each has exactly one row."""
    lines = shown(STATUS).splitlines()
    for instance in (CHAT, CODE, PAINT, EMBED):
        assert sum(line.startswith(f"{instance.name} ") for line in lines) == 1
