"""The journal on stderr: one JSON object a line, so that any log collector can read it.

A line is built from an Event and nothing else. Events carry names of secrets at most, and ASCII is all that is written, so
that neither a value nor a control character of an engine's log can get through.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TextIO

from controller.model.events import Event
from controller.model.moment import Instant, iso
from controller.model.status import Status

MESSAGE_CHARACTERS: Final = 4000
"""A longer message is cut: some collectors drop lines beyond 8 KiB."""


@dataclass(slots=True)
class JsonLog:
    """A Recorder that writes each journal line to a stream."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def event(self, event: Event) -> None:
        """Write one line."""
        line = log_line(event.at.iso(), event.level, event.kind, event.message, event.instance, event.cause, event.pass_id)
        _write(self.stream, line)

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:
        """Passes are counted, not logged: there is one every few seconds."""

    def acted(self, instance: str, action: str, result: str) -> None:
        """An action's end has a journal line of its own."""

    def show(self, status: Status) -> None:
        """The status is read from the board, not from the log."""


class HttpLog(logging.Handler):
    """Puts what the HTTP server logs into the same shape: an error is one line, without its traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        error = record.exc_info[1] if record.exc_info else None
        message = " ".join(record.getMessage().split())
        if error is not None:
            message = f"{message} ({type(error).__name__}: {error})"
        _write(sys.stderr, log_line(iso(record.created), record.levelname.lower(), "HttpServer", message))


def take_http_log() -> None:
    """From now on the HTTP server logs its errors, and only those, as journal lines."""
    logger = logging.getLogger("uvicorn")
    logger.handlers = [HttpLog()]
    logger.setLevel(logging.ERROR)
    logger.propagate = False


def log_line(time: str, level: str, kind: str, message: str, instance: str = "", cause: str = "", pass_id: str = "") -> str:
    """One line, always with the same keys."""
    cut = message if len(message) <= MESSAGE_CHARACTERS else message[:MESSAGE_CHARACTERS] + "…"
    line = {"time": time, "level": level, "kind": kind, "message": cut, "instance": instance, "cause": cause, "pass": pass_id}
    return json.dumps(line)


def _write(stream: TextIO, line: str) -> None:
    """A stream that is gone (a closed terminal, a full disk) must not stop the rig."""
    with suppress(OSError):
        stream.write(line + "\n")
        stream.flush()
