"""`steward demo` as its user has it: the program, its output through a pipe or on a terminal, and its folder."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from tests.docker.harness import free_port, until
from tests.fakes.screen import Screen

STEWARD: Final = Path(sys.executable).parent / "steward"
END_S: Final = 30
RIG: Final = """\
gpus: [{profile: rtx-3090}, {profile: rtx-3090}]
simulation: {engines: {"*": {load: 500ms, drain: 100ms}}}
"""


@dataclass(slots=True)
class Ports:
    """Free ones for a demo's own estate and API."""

    one: int = field(default_factory=free_port)
    two: int = field(default_factory=free_port)
    listen: int = field(default_factory=free_port)


@dataclass(slots=True)
class Output:
    """What a process has printed so far, read by a thread of its own; `screen` obeys it where it is a terminal's."""

    descriptor: int
    screen: Screen | None = None
    data: bytes = b""
    _reader: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        """Begin to read."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """As text."""
        return self.data.decode(errors="replace")

    def rest(self) -> str:
        """All of it, once its writers have ended."""
        self._reader.join(END_S)
        return self.text

    def _read(self) -> None:
        pending = b""
        while piece := self._piece():
            self.data += piece
            pending += piece
            if self.screen is not None:
                whole = pending[: _whole(pending)]
                pending = pending[len(whole) :]
                self.screen.write(whole.decode())

    def _piece(self) -> bytes:
        with suppress(OSError):  # a terminal whose last process has ended
            return os.read(self.descriptor, 65536)
        return b""


def _whole(data: bytes) -> int:
    """How much of it ends neither within a character nor within an escape code."""
    for end in range(len(data), max(0, len(data) - 16), -1):
        tail = data[:end].rsplit(b"\x1b", 1)
        inside = len(tail) == 2 and re.fullmatch(rb"(\[[?0-9;]*)?", tail[1])
        with suppress(UnicodeDecodeError):
            if not inside and (data[:end].decode() or True):
                return end
    return 0


@dataclass(slots=True)
class Demo:
    """A demo that runs; times in Unix seconds."""

    process: subprocess.Popen[bytes]
    output: Output
    began: float = field(default_factory=time.time)

    @property
    def address(self) -> str:
        """Where its API is, as it says."""
        return str(until(lambda: _found(r"http://(\S+)/api/v1/status", self.output.text), lambda: self.output.text))

    @property
    def estate(self) -> Path:
        """Its estate file, as it says."""
        return Path(str(until(lambda: _found(r"the estate +(\S+)", self.output.text), lambda: self.output.text)))

    def get(self, path: str) -> dict[str, Any]:
        """A JSON document of the API."""
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as answer:
            return dict(json.load(answer))

    def instances(self) -> dict[str, dict[str, Any]]:
        """The rows of the status by name; empty before there are any."""
        try:
            listed = self.get("/api/v1/status")["instances"]
        except (urllib.error.URLError, KeyError):
            return {}
        return {row["name"]: row for row in listed}

    def ready(self, *names: str) -> dict[str, dict[str, Any]]:
        """The rows once exactly these instances are there, all ready."""

        def rows() -> dict[str, dict[str, Any]]:
            found = self.instances()
            return found if sorted(found) == sorted(names) and all(row["ready"] for row in found.values()) else {}

        return dict(until(rows, lambda: self.output.text))

    def last_event(self) -> int:
        """The number of the newest journal line."""
        return int(self.get("/api/v1/events?after=-1&limit=1")["events"][-1]["sequence"])

    def event(self, kind: str, after: int, instance: str = "") -> float:
        """When the first such journal line after a number was written."""

        def at() -> float:
            for event in self.get(f"/api/v1/events?after={after}&limit=200")["events"]:
                if event["kind"] == kind and instance in ("", event["instance"]):
                    return datetime.fromisoformat(event["at"]).timestamp()
            return 0.0

        return float(until(at, lambda: self.output.text))

    def save(self, text: str) -> float:
        """Write the estate as editors do, beside it and then in its place; when that was."""
        beside = self.estate.with_name("4913~")
        beside.write_text(text)
        beside.rename(self.estate)
        return time.time()

    def engines(self) -> frozenset[int]:
        """The pids of its engines."""
        return frozenset(pid for pid in _pids() if _parent(pid) == self.process.pid)

    def end(self, signal_number: int = signal.SIGINT) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(signal_number)
        return self.process.wait(END_S)


@contextmanager
def piped(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Demo]:
    """A demo whose output goes into a pipe; temporary folders are made in `folder`."""
    reading, writing = os.pipe()
    streams = {"stdout": writing, "stderr": writing, "stdin": subprocess.DEVNULL}
    with _alone(words), _running(folder, words, streams, env) as process:
        os.close(writing)
        yield Demo(process, Output(reading))
    os.close(reading)


@contextmanager
def _alone(words: tuple[str, ...]) -> Iterator[None]:
    """Of the demos that take the usual ports one runs at a time, whichever process of the tests starts it."""
    if "--listen" in words:
        yield
        return
    with (Path(tempfile.gettempdir()) / f"steward-demo-tests-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(slots=True)
class Window:
    """A terminal with a demo in it."""

    demo: Demo
    master: int
    slave: int
    screen: Screen

    def resize(self, width: int, height: int) -> None:
        """Another size of the window."""
        self.screen.resize(width, height)
        _set_size(self.master, width, height)

    def press(self, key: bytes) -> None:
        """What a key sends."""
        os.write(self.master, key)

    def modes(self) -> list[Any]:
        """The terminal's own settings."""
        return termios.tcgetattr(self.slave)


@contextmanager
def on_terminal(folder: Path, width: int, height: int, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Window]:
    """A demo on a terminal of its own, with which it can be stopped and interrupted."""
    master, slave = pty.openpty()
    _set_size(master, width, height)
    streams = {"stdin": slave, "stdout": slave, "stderr": slave}
    screen = Screen(width, height)
    with _running(folder, words, streams, {"TERM": "xterm-256color", **(env or {})}, terminal=True) as process:
        yield Window(Demo(process, Output(master, screen)), master, slave, screen)
    os.close(slave)
    os.close(master)


@contextmanager
def _running(
    folder: Path, words: tuple[str, ...], streams: Mapping[str, int], env: Mapping[str, str] | None, *, terminal: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [str(STEWARD), "demo", *words],
        **streams,  # type: ignore[call-overload]
        env={**environment(folder), **(env or {})},
        start_new_session=terminal,
        preexec_fn=_take_terminal if terminal else None,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(END_S)


def environment(folder: Path) -> dict[str, str]:
    """What a demo inherits: nothing that would change what it shows; temporary folders are made in this one."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("STEWARD_", "NO_COLOR", "COLUMNS"))}
    return {**others, "TMPDIR": str(folder)}


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _set_size(master: int, width: int, height: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))


def own_folder(folder: Path, ports: Ports, rig: str = RIG, more: str = "") -> list[str]:
    """The arguments of a demo on ports of its own, in a folder that has an estate and a rig."""
    (folder / "desired").mkdir()
    (folder / "desired" / "estate.yml").write_text(estate(ports, more))
    (folder / "rig.yml").write_text(rig)
    return ["--dir", str(folder), "--listen", f"127.0.0.1:{ports.listen}"]


def estate(ports: Ports, more: str = "") -> str:
    """Two engines."""
    entries = [
        f"  - {{name: {name}, compose: simulated/default, gpus: [{card}], port: {port}}}\n"
        for card, (name, port) in enumerate((("one", ports.one), ("two", ports.two)))
    ]
    return f"defaults: {{drain: {{idle_for: 200ms}}}}\nestate:\n{''.join(entries)}{more}"


def completion(port: int, model: str) -> int:
    """The HTTP status of one completion."""
    body = json.dumps({"model": model, "prompt": "hello", "max_tokens": 4}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return int(answer.status)


def alive(pids: frozenset[int]) -> frozenset[int]:
    """Those that still run; one that only its parent has not collected yet does not."""
    return frozenset(pid for pid in pids if _state(pid) not in ("", "Z", "X"))


def state_of(process: subprocess.Popen[bytes]) -> str:
    """The kernel's letter for what it does: `T` while it is stopped."""
    return _state(process.pid)


def _pids() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _stat(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ["", "0"]


def _state(pid: int) -> str:
    return _stat(pid)[0]


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""
