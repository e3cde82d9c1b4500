"""Following a running controller through its socket until the rig is as the files say."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from controller.cli.narrator import Narrator
from controller.cli.output import has_color, print_text, tell, width
from controller.cli.waiting import NOTHING_MOVES, Waits, is_booting, observing
from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.plan import Action, Cause, Step
from controller.model.problem import Place, Problem, Severity
from observability.client import SocketClient
from observability.text import problems_text

BLOCKED_S: Final = 120.0
"""How long the plan may read the same; longer than any sensible stagger between boots."""
LOOK_S: Final = 0.5
"""Pause between two looks."""
LINES: Final = 200
"""Journal lines that one look takes."""


class Follower:
    """Prints the journal as it grows; `revision` is the one to wait for, `only` the instances that matter (empty: all)."""

    def __init__(self, client: SocketClient, revision: str, only: frozenset[str]) -> None:
        """What is in the journal already is not printed."""
        self._client = client
        self._revision = revision
        self._only = only
        self._waits = Waits(BLOCKED_S)
        self._before: tuple[Step, ...] = ()
        self._verdict = ""
        latest = client.get("/api/v1/events?after=-1&limit=1")["events"]
        self._after = latest[-1]["sequence"] if latest else 0

    def until_converged(self, timeout_s: float) -> int:
        """Wait until the revision is in force and nothing is left to do; print the rig; 0 when that came true."""
        if not wait_for(self._client, self._is_over, timeout_s):
            self._verdict = "the time is over; the controller goes on, `steward status` and `steward plan` show what is left"
        status = self._client.get("/api/v1/status")
        done = self._is_accepted(status) and self._is_done(status, self._steps())
        if not done and is_refused(status):
            tell(problems_text(tuple(map(problem_of, status["problems"])), color=has_color(sys.stderr)))
        elif not done and self._verdict:
            tell(f"steward: {self._verdict}")
        print_text(self._client.text("/api/v1/status", width=width(), color=has_color(), verbose=False))
        return 0 if done else 1

    def _is_over(self, status: dict[str, Any]) -> bool:
        self._print_new()
        if status["revision"]["desired"] == self._revision and is_refused(status):
            return True
        if not self._is_accepted(status):
            return False
        steps = self._steps()
        if self._is_done(status, steps) or (not steps and self._is_stalled(status)):
            return True
        if steps and status["mode"] != "auto":
            self._verdict = observing(status["mode"])
            return True
        return self._is_blocked(steps)

    def _is_blocked(self, steps: tuple[Step, ...]) -> bool:
        """A wait that ends by time counts down in its text, so that a plan which reads the same does not move."""
        now = Instant(time.time(), time.monotonic())
        self._waits.tell(steps, now)
        moving = steps != self._before or any(is_booting(step) or not (step.after or step.waiting_for) for step in steps)
        self._before = steps
        over = self._waits.is_over(now, moving=moving)
        self._verdict = NOTHING_MOVES if over else ""
        return over

    def _print_new(self) -> None:
        for document in self._client.get(f"/api/v1/events?after={self._after}&limit={LINES}")["events"]:
            self._after = document["sequence"]
            Narrator().event(event_of(document))

    def _is_accepted(self, status: dict[str, Any]) -> bool:
        return bool(status["revision"]["accepted"] == self._revision)

    def _is_done(self, status: dict[str, Any], steps: tuple[Step, ...]) -> bool:
        return bool(status["converged"]) if not self._only else not steps and not self._is_stalled(status)

    def _steps(self) -> tuple[Step, ...]:
        steps = [step_of(document) for document in self._client.get("/api/v1/plan")["steps"]]
        return tuple(step for step in steps if not self._only or step.instance in self._only)

    def _is_stalled(self, status: dict[str, Any]) -> bool:
        return any(i["state"] == "Stalled" for i in status["instances"] if not self._only or i["name"] in self._only)


def wait_for(client: SocketClient, holds: Callable[[dict[str, Any]], bool], timeout_s: float) -> bool:
    """Look at the status until something holds; False when it did not in time."""
    ends = time.monotonic() + timeout_s
    while True:
        if holds(client.get("/api/v1/status")):
            return True
        if time.monotonic() >= ends:
            return False
        time.sleep(LOOK_S)


def event_of(document: dict[str, Any]) -> Event:
    """A journal line out of its JSON document."""
    at = Instant(datetime.fromisoformat(document["at"]).timestamp(), 0.0)
    return Event(
        at,
        document["kind"],
        document["message"],
        document["instance"],
        document["cause"],
        document["pass"],
        document["level"],
        document["sequence"],
    )


def step_of(document: dict[str, Any]) -> Step:
    """A step out of its JSON document."""
    cause = Cause(document["cause"]["field"], document["cause"]["old"], document["cause"]["new"])
    action, after = Action(document["action"]), tuple(document["after"])
    return Step(document["id"], action, document["instance"], cause, after=after, waiting_for=document["waiting_for"])


def problem_of(document: dict[str, Any]) -> Problem:
    """A problem out of its JSON document."""
    place = Place(document["file"], document["line"], document["column"]) if document["file"] is not None else None
    severity = Severity(document["severity"])
    return Problem(severity, document["rule"], document["message"], document["hint"], document["path"], place)


def is_refused(status: dict[str, Any]) -> bool:
    """Whether a status document says that the newest estate is refused."""
    return any(c["type"] == "ConfigAccepted" and c["status"] == "False" for c in status["conditions"])
