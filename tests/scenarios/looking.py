"""What scenarios look at: which engines run since when, what the controller says of its files, and that nothing moves."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.docker.harness import Steward, until

LOOK_S = 0.05
Engines: TypeAlias = dict[str, tuple[str, str]]
"""By instance: the id of the running container, and when it was started."""


def engines(steward: Steward) -> Engines:
    """The engines that run; an instance with two running containers fails the test."""
    found = {}
    for container in steward.containers(running=True):
        name = container.labels["steward.instance"]
        assert name not in found, f"{name} runs twice"
        found[name] = (container.attrs["Id"], container.attrs["State"]["StartedAt"])
    return found


def throughout(seconds: float, holds: Callable[[], object], what: str) -> None:
    """Look all the time for so long; fails as soon as `holds` is not true."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        assert holds(), what
        time.sleep(LOOK_S)


def condition(steward: Steward, kind: str) -> dict[str, Any]:
    """A condition of the rig; an empty one when it is not told."""
    found: list[dict[str, Any]] = [c for c in steward.status()["conditions"] if c["type"] == kind]
    return found[0] if found else {}


def refused(steward: Steward, words: str) -> str:
    """Wait until the newest files are refused with these words; the sentence."""

    def holds() -> str:
        config = condition(steward, "ConfigAccepted")
        return str(config["message"]) if config.get("status") == "False" and words in config["message"] else ""

    return str(until(holds, lambda: f"a refusal with {words!r}; now {condition(steward, 'ConfigAccepted')}"))


def accepted(steward: Steward, timeout_s: float = 15.0) -> None:
    """Wait until the revision on disk is in force; a poll and a pass, on a busy machine."""
    wanted = steward.revision()
    until(
        lambda: steward.status()["revision"]["accepted"] == wanted,
        lambda: f"revision {wanted} in force; now {steward.status()['revision']} {condition(steward, 'ConfigAccepted')}",
        timeout_s,
    )


def kinds(steward: Steward, after: int = 0) -> list[str]:
    """The kinds of the journal lines after a sequence number."""
    return [event["kind"] for event in steward.events() if event["sequence"] > after]


def newest(steward: Steward) -> int:
    """The sequence number of the newest journal line."""
    return max((int(event["sequence"]) for event in steward.events()), default=0)


def waiting(steward: Steward, action: str) -> str:
    """What an action of the plan waits for; empty when there is no such wait."""
    steps = steward.get("/api/v1/plan")["steps"]
    return next((str(step["waiting_for"]) for step in steps if step["action"] == action and step["waiting_for"]), "")


def listener(address: str, port: int) -> socket.socket:
    """A program of somebody else: this one."""
    found = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    found.bind((address, port))
    found.listen()
    return found
