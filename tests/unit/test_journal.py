"""Journal lines on stderr: one JSON object a line, whatever the message holds."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest

from controller.errors import EnvironmentFault
from controller.model.events import Event
from observability.board import Board
from observability.journal import MESSAGE_CHARACTERS, HttpLog, JsonLog
from observability.metrics import Metrics
from observability.recorders import Recorders
from tests.unit.shown import NOW, STATUS

EVENT = Event(NOW, "BootFailed", "exit 1", "chat", "image: a -> b", "1800000000-7", "error", 3)


class ClosedTerminal(io.StringIO):
    """A stream whose reader is gone."""

    def write(self, text: str) -> int:
        """Refuse, as a closed pipe does."""
        raise BrokenPipeError


def test_a_line_has_all_fields() -> None:
    """Given an event, when it is logged, then one line holds time, level, kind, message, instance, cause and pass."""
    stream = io.StringIO()
    JsonLog(stream).event(EVENT)
    assert json.loads(stream.getvalue()) == {
        "time": "2027-01-15T08:00:00.000Z",
        "level": "error",
        "kind": "BootFailed",
        "message": "exit 1",
        "instance": "chat",
        "cause": "image: a -> b",
        "pass": "1800000000-7",
    }


def test_a_message_cannot_break_the_line() -> None:
    """Given a message with newlines, escapes, broken Unicode and great length, when it is logged, then it is one ASCII line."""
    stream = io.StringIO()
    JsonLog(stream).event(Event(NOW, "BootFailed", "a\nb\x1b[31m\udcff€" + "x" * 9000))
    text = stream.getvalue()
    assert text.isascii()
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert len(json.loads(text)["message"]) == MESSAGE_CHARACTERS + 1


def test_a_closed_terminal_does_not_stop_the_rig() -> None:
    """Given a stream whose reader is gone, when an event is logged, then nothing is raised."""
    JsonLog(ClosedTerminal()).event(EVENT)


def test_passes_and_statuses_are_not_logged() -> None:
    """Given a log, when passes end and a status is shown, then it stays silent: the journal has what happened."""
    stream = io.StringIO()
    log = JsonLog(stream)
    log.passed("timer", "done", 0.01, NOW)
    log.acted("chat", "stop", "done")
    log.show(STATUS)
    assert stream.getvalue() == ""


def test_the_http_servers_errors_have_the_same_shape(capsys: pytest.CaptureFixture[str]) -> None:
    """Given an error of the HTTP server, when it is logged, then it is a journal line without a traceback."""
    try:
        raise EnvironmentFault("the store is locked")
    except EnvironmentFault:
        record = logging.LogRecord("uvicorn.error", logging.ERROR, __file__, 1, "it\nbroke\n", (), sys.exc_info())
    HttpLog().handle(record)
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["kind"]) == ("error", "HttpServer")
    assert line["message"] == "it broke (EnvironmentFault: the store is locked)"


def test_recorders_are_all_told() -> None:
    """Given several recorders as one, when something is recorded, then each of them knows it."""
    stream, board, metrics = io.StringIO(), Board(), Metrics()
    recorder = Recorders((metrics, board, JsonLog(stream)))
    recorder.passed("start", "done", 0.1, NOW)
    recorder.acted("chat", "stop", "done")
    recorder.event(EVENT)
    recorder.show(STATUS)
    page = metrics.exposition("")[0].decode()
    assert 'steward_passes_total{result="done",rig="home",trigger="start"} 1.0' in page
    assert 'steward_actions_total{action="stop",instance="chat",result="done",rig="home"} 1.0' in page
    assert board.status is STATUS
    assert json.loads(stream.getvalue())["kind"] == "BootFailed"
