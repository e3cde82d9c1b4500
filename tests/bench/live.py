"""A whole Steward on Docker at rest, and how fast it reacts to a saved file."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import docker
from docker.errors import DockerException

from tests.bench.figure import Figure
from tests.docker.harness import Entry, Steward, free_port, steward_on, until
from tests.docker_fixtures import engine_address

INSTANCES = 8
IDLE_S = 30.0
EDITS = 40
REMOVALS = 4
AIMS = {"rss": "<= 100 MiB", "cpu": "<= 1 %", "save": "p99 <= 0.4 s"}


def live_figures() -> Iterator[Figure]:
    """Memory and CPU at rest with eight engines; seconds from a save to the first effect."""
    host = engine_address()
    try:
        client = docker.DockerClient(host, timeout=60) if host else None
    except DockerException:
        client = None
    if client is None:
        for name in ("idle RSS", "idle CPU", "save to first effect"):
            yield Figure(name, "", "", missing="no Docker engine (make engine)")
        return
    with tempfile.TemporaryDirectory() as folder, steward_on(client, Path(folder)) as steward:
        steward.more_env["DOCKER_HOST"] = str(host)
        yield from _measure(steward)


def _measure(steward: Steward) -> Iterator[Figure]:
    ports = [free_port() for _ in range(INSTANCES)]
    entries = [Entry(f"e{n}", port, more=("health: {interval: 5s}",)) for n, port in enumerate(ports)]
    steward.write(*entries)
    steward.start()
    steward.converged(180)
    assert steward.process is not None
    pid = steward.process.pid
    time.sleep(5)
    began, cpu = time.monotonic(), _cpu_seconds(pid)
    rss = []
    while time.monotonic() < began + IDLE_S:
        rss.append(_rss_mib(pid))
        time.sleep(1)
    used = (_cpu_seconds(pid) - cpu) / (time.monotonic() - began) * 100
    yield Figure(f"idle RSS, {INSTANCES} instances", "MiB", AIMS["rss"], tuple(rss))
    yield Figure(f"idle CPU of a core, {INSTANCES} instances", "%", AIMS["cpu"], (used,))
    yield Figure("save to first effect, an edit", "s", AIMS["save"], tuple(_edits(steward, entries)))
    yield Figure("save to first effect, a removal", "s", "-", tuple(_removals(steward, entries)))


def _edits(steward: Steward, entries: list[Entry]) -> Iterator[float]:
    """Edit one instance again and again; from the rename of the file to the journal's first action."""
    for number in range(EDITS):
        yield _reaction(steward, [replace(entries[0], set={"max_model_len": 4096 + number}), *entries[1:]])


def _removals(steward: Steward, entries: list[Entry]) -> Iterator[float]:
    """Take the last instance away; a file that lost an entry is believed only after it has stood for a moment."""
    for _ in range(REMOVALS):
        yield _reaction(steward, entries[:-1])
        steward.write(*entries)
        steward.converged()


def _reaction(steward: Steward, entries: list[Entry]) -> float:
    last = steward.events()[-1]["sequence"]
    saved = time.time()
    steward.write(*entries)
    first = until(partial(_first_action, steward, last), "the first action")
    steward.converged()
    return datetime.fromisoformat(first).timestamp() - saved


def _first_action(steward: Steward, after: int) -> str:
    events = steward.get(f"/api/v1/events?after={after}&limit=100")["events"]
    return next((str(e["at"]) for e in events if e["kind"] == "ActionStarted"), "")


def _rss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the process has no VmRSS")


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
