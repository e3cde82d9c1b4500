"""Following a running controller through its socket."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from observability.client import SocketClient

from controller.cli.output import has_color, print_text, width

LOOK_S = 0.5
"""Pause between two looks."""


def wait_for(client: SocketClient, holds: Callable[[dict[str, Any]], bool], timeout_s: float) -> bool:
    """Look at the status until something holds; False when it did not in time."""
    ends = time.monotonic() + timeout_s
    while True:
        if holds(client.get("/api/v1/status")):
            return True
        if time.monotonic() >= ends:
            return False
        time.sleep(LOOK_S)


def follow_until_converged(client: SocketClient, revision: str, only: frozenset[str], timeout_s: float) -> int:
    """Wait until the revision is in force and nothing is left to do, printing what happens meanwhile."""
    seen = _Printer(client)

    def holds(status: dict[str, Any]) -> bool:
        seen.print_new()
        accepted = status["revision"]["accepted"] == revision
        refused = status["revision"]["desired"] == revision and _refused(status)
        return refused or (accepted and (_is_done(client, status, only) or _stalled(status, only)))

    ended = wait_for(client, holds, timeout_s)
    status = client.get("/api/v1/status")
    print_text(client.text("/api/v1/status", width=width(), color=has_color(), verbose=False))
    accepted = status["revision"]["accepted"] == revision
    return 0 if ended and accepted and _is_done(client, status, only) else 1


def _is_done(client: SocketClient, status: dict[str, Any], only: frozenset[str]) -> bool:
    if not only:
        return bool(status["converged"])
    steps = client.get("/api/v1/plan")["steps"]
    return not _stalled(status, only) and not any(step["instance"] in only for step in steps)


def _refused(status: dict[str, Any]) -> bool:
    return any(c["type"] == "ConfigAccepted" and c["status"] == "False" for c in status["conditions"])


def _stalled(status: dict[str, Any], only: frozenset[str]) -> bool:
    return any(i["state"] == "Stalled" for i in status["instances"] if not only or i["name"] in only)


class _Printer:
    """Prints journal lines that are newer than the last one printed."""

    def __init__(self, client: SocketClient) -> None:
        self._client = client
        latest = client.get("/api/v1/events?after=-1&limit=1")["events"]
        self._after = latest[-1]["sequence"] if latest else 0

    def print_new(self) -> None:
        for event in self._client.get(f"/api/v1/events?after={self._after}&limit=200")["events"]:
            self._after = event["sequence"]
            where = f"{event['instance']}: " if event["instance"] else ""
            cause = f" ({event['cause']})" if event["cause"] else ""
            sys.stderr.write(f"{event['at']} {where}{event['message']}{cause}\n")
