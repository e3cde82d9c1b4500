"""Engine programs that a test starts as the processes that they are."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Final

import httpx

PROGRAM: Final = (sys.executable, "-P", "-m", "controller.simulation.engine")
ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 20.0


def until(seen: Callable[[], bool]) -> None:
    """Poll until it is so, for a bounded time."""
    deadline = time.monotonic() + LIMIT_S
    while not seen():
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.02)


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Running:
    """One engine process; its two streams are in two files."""

    process: subprocess.Popen[bytes]
    port: int
    output: Path
    errors: Path

    @property
    def log(self) -> str:
        """What it printed so far."""
        return self.output.read_bytes().decode()

    def ask(self, path: str, body: Mapping[str, Any] | None = None, key: str = "") -> httpx.Response:
        """One request, a POST where it has a body."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"http://127.0.0.1:{self.port}{path}"
        return httpx.request("GET" if body is None else "POST", url, json=body, headers=headers, timeout=LIMIT_S)

    def status(self, path: str = "/health") -> int | None:
        """What a page answers, None while the connection is refused."""
        try:
            return self.ask(path).status_code
        except httpx.TransportError:
            return None

    def complete(self, limit: int, **more: Any) -> dict[str, Any]:
        """The answer to a completion request."""
        answer: dict[str, Any] = self.ask("/v1/completions", {"prompt": "hello", "max_tokens": limit, **more}).json()
        return answer

    def ask_in_vain(self) -> None:
        """A request from a thread, whose answer may never come: the engine ends first."""

        def ask() -> None:
            with suppress(httpx.TransportError):
                self.complete(1000)

        Thread(target=ask, daemon=True).start()

    def figure(self, name: str) -> float:
        """One sample of the metrics, whatever its labels."""
        lines = self.ask("/metrics").text.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.partition("{")[0].split(" ")[0] == name)

    def stop(self) -> int:
        """TERM, and the exit code."""
        self.process.terminate()
        return self.process.wait(LIMIT_S)


@dataclass(slots=True)
class Engines:
    """Starts engines, and ends them after the test."""

    folder: Path
    running: list[Running] = field(default_factory=list)

    def __call__(self, *flags: str, environment: Mapping[str, str] | None = None) -> Running:
        """An engine with these flags, on a port of its own."""
        port = free_port()
        return self.launch(port, "--host", "127.0.0.1", "--port", str(port), *flags, environment=environment)

    def launch(
        self, port: int, *flags: str, environment: Mapping[str, str] | None = None, fds: tuple[int, ...] = ()
    ) -> Running:
        """An engine with these flags alone; its stdin is a pipe."""
        output, errors = (self.folder / f"{len(self.running)}.{stream}" for stream in ("out", "err"))
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                [*PROGRAM, *flags],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                bufsize=0,
                pass_fds=fds,
                env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            )
        self.running.append(Running(process, port, output, errors))
        return self.running[-1]

    def end(self) -> None:
        """End all of them."""
        for engine in self.running:
            engine.process.kill()
            engine.process.wait(LIMIT_S)
            if engine.process.stdin:
                engine.process.stdin.close()


def ready(engine: Running) -> Running:
    """The engine once its health is 200."""
    until(lambda: engine.status() == 200)
    return engine
