"""One Steward as its user has it: an estate folder, a state folder, the `steward` program, and a real Docker engine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
from docker.models.containers import Container

from controller.settings import Bounds
from controller.sources.file_source import FileSource

PATIENCE_S = 60.0
"""How long a test waits for something that takes a second: enough for a busy machine, no measure of speed."""

QUICK = """
defaults:
  health: {interval: 500ms, timeout: 3s, min_healthy: 500ms}
  drain: {idle_for: 200ms, limit: 20s, term: 5s}
  restart: {backoff: 500ms}
"""
"""Live settings that make a rig of simulated engines move fast."""


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(holds: Callable[[], Any], what: Callable[[], object] | str, timeout_s: float = PATIENCE_S) -> Any:
    """Poll until `holds` gives something true, and return it; fails naming what never came."""
    ends = time.monotonic() + timeout_s
    while True:
        if found := holds():
            return found
        if time.monotonic() >= ends:
            raise AssertionError(f"never came in {timeout_s:.0f} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.05)


@dataclass(slots=True)
class Entry:
    """One instance of a test's estate; `more` is YAML lines for the entry."""

    name: str
    port: int
    args: tuple[str, ...] = ()
    compose: str = "simulated/default"
    more: tuple[str, ...] = ()
    set: dict[str, Any] = field(default_factory=dict)

    def yaml(self) -> str:
        """The entry as it stands in the file."""
        parameters = dict(self.set)
        if self.args:
            parameters["extra_args"] = list(self.args)
        lines = [f"  - name: {self.name}", f"    compose: {self.compose}", f"    port: {self.port}"]
        if not any(line.startswith("gpus:") for line in self.more):
            lines.append("    gpus: []")
        if parameters:
            lines.append(f"    set: {json.dumps(parameters)}")
        return "\n".join([*lines, *(f"    {line}" for line in self.more)])


@dataclass(slots=True)
class Steward:
    """The program under test and the engine it works on."""

    folder: Path
    engine: docker.DockerClient
    rig: str
    listen: int = field(default_factory=free_port)
    process: subprocess.Popen[str] | None = None
    more_env: dict[str, str] = field(default_factory=dict)

    @property
    def estate(self) -> Path:
        """The estate file."""
        return self.folder / "desired" / "estate.yml"

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.folder / "state"

    def env(self) -> dict[str, str]:
        """The environment of every `steward` of this test."""
        own = {
            "STEWARD_ESTATE": str(self.estate.parent),
            "STEWARD_STATE": str(self.state),
            "STEWARD_LISTEN": f"127.0.0.1:{self.listen}",
            "STEWARD_LOCK_DIR": str(self.folder / "lock"),
        }
        inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # xdist sets it, which cuts lines
        return {**inherited, **own, **self.more_env}

    def text(self, *entries: Entry, rig: str = "boot: {parallel: 4, stagger: 0s}", more: str = "") -> str:
        """An estate of these entries on this test's rig."""
        listed = "\n".join(entry.yaml() for entry in entries)
        body = f"estate:\n{listed}\n" if entries else "estate: []\n"
        return f"rig:\n  name: {self.rig}\n  {rig}\n{QUICK}{more}\n{body}"

    def save(self, text: str) -> None:
        """Save as a careful editor does: a new file renamed over the old one."""
        self.estate.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.estate.with_name(".estate.yml.new")
        fresh.write_text(text)
        fresh.replace(self.estate)

    def write(self, *entries: Entry, rig: str = "boot: {parallel: 4, stagger: 0s}", more: str = "") -> None:
        """Save an estate of these entries."""
        self.save(self.text(*entries, rig=rig, more=more))

    def cli(self, *arguments: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run one `steward` command to its end."""
        command = [sys.executable, "-m", "controller.cli", *arguments]
        return subprocess.run(command, env=self.env(), capture_output=True, text=True, timeout=timeout_s, check=False)

    def start(self) -> None:
        """Begin `steward run` and wait until its API answers."""
        log = (self.folder / "steward.log").open("a")
        command = [sys.executable, "-m", "controller.cli", "run"]
        self.process = subprocess.Popen(command, env=self.env(), stdout=log, stderr=subprocess.STDOUT, text=True)
        log.close()
        until(self._answers, lambda: f"the API of `steward run`; its log:\n{self.log()[-3000:]}")

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"`steward run` ended: {self.log()[-3000:]}"
        try:
            self.status()
        except OSError:
            return False
        return True

    def log(self) -> str:
        """What `steward run` has printed."""
        path = self.folder / "steward.log"
        return path.read_text() if path.exists() else ""

    def kill(self) -> None:
        """SIGKILL: no chance to tidy up."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)
        self.process = None

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(60)
        self.process = None
        return code

    def get(self, path: str) -> Any:
        """A JSON document of the running controller's API."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.listen}{path}", timeout=10) as answer:
            return json.load(answer)

    def status(self) -> Any:
        """The status document."""
        return self.get("/api/v1/status")

    def instance(self, name: str) -> Any:
        """One instance of the status document, or None."""
        return next((i for i in self.status()["instances"] if i["name"] == name), None)

    def events(self) -> list[dict[str, Any]]:
        """The journal so far."""
        found: list[dict[str, Any]] = self.get("/api/v1/events?after=0&limit=1000")["events"]
        return found

    def ready(self, name: str, timeout_s: float = PATIENCE_S) -> Any:
        """Wait until an instance is ready; its status."""
        return until(
            lambda: (found := self.instance(name)) and found["ready"] and found,
            lambda: f"{name} ready; status {self.instance(name)}",
            timeout_s,
        )

    def converged(self, timeout_s: float = PATIENCE_S) -> Any:
        """Wait until the revision on disk is in force and nothing is left to do; the status."""
        wanted = self.revision()

        def holds() -> Any:
            status = self.status()
            return status["revision"]["accepted"] == wanted and status["converged"] and status

        return until(holds, lambda: f"convergence; plan {self.get('/api/v1/plan')}", timeout_s)

    def revision(self) -> str:
        """The revision of the estate as it is on disk."""
        found = FileSource(self.estate.parent, Bounds()).read()
        assert not isinstance(found, tuple), found
        return found.revision

    def running_requests(self, name: str) -> float:
        """How many requests the engine of an instance works on, as the last probe saw it."""
        metrics = self.instance(name)["metrics"] or {}
        return float(metrics.get("requests_running") or 0)

    def containers(self, instance: str | None = None, *, running: bool = False) -> list[Container]:
        """Our containers on the engine, newest generation last."""
        labels = [f"steward.rig={self.rig}", *([f"steward.instance={instance}"] if instance else [])]
        found: list[Container] = self.engine.containers.list(all=not running, filters={"label": labels})
        return sorted(found, key=lambda c: int(c.labels["steward.generation"]))

    def only(self, instance: str) -> Container:
        """The one running container of an instance."""
        running = self.containers(instance, running=True)
        assert len(running) == 1, f"{instance} has {len(running)} running containers"
        return running[0]

    def complete(self, port: int, model: str, tokens: int = 4, timeout_s: float = 30.0) -> Any:
        """One completion through the public port."""
        body = json.dumps({"model": model, "prompt": "hello", "max_tokens": tokens, "temperature": 0}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return json.load(answer)


@contextmanager
def steward_on(engine: docker.DockerClient, folder: Path) -> Iterator[Steward]:
    """A Steward with a rig name of its own; whatever it made is removed at the end."""
    steward = Steward(folder, engine, f"t-{uuid.uuid4().hex[:8]}")
    try:
        yield steward
    finally:
        steward.kill()
        for container in steward.containers():
            container.remove(force=True)
