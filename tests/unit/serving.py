"""A real server on a free port and a real socket, for the tests of both ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controller.errors import NotFound, UsageError
from controller.model.events import Command, Event, Reply
from controller.model.observed import LogExcerpt
from observability.board import Board
from observability.client import SocketClient
from observability.metrics import Metrics
from observability.server import Server
from tests.unit.shown import NOW


@dataclass(slots=True)
class Ear:
    """Stands for the loop: takes commands and answers, or waits until it is let go."""

    taken: list[Command] = field(default_factory=list)
    reply: Reply = field(default_factory=lambda: Reply(True, "done", {"names": ["chat"]}))
    gate: threading.Event | None = None

    def submit(self, command: Command) -> Reply:
        """Keep the command; answer at once, or once the gate opens."""
        self.taken.append(command)
        if self.gate is not None:
            self.gate.wait(20)
        return self.reply


@dataclass(slots=True)
class Journal:
    """Events 1 to 300, read as the store reads them."""

    fault: Exception | None = None

    def read(self, after: int, limit: int) -> tuple[Event, ...]:
        """The last ones for -1, else those after a number."""
        if self.fault is not None:
            raise self.fault
        numbers = range(301 - limit, 301) if after < 0 else range(after + 1, min(after + limit, 300) + 1)
        return tuple(Event(NOW, "ActionDone", f"event {number}", sequence=number) for number in numbers if number > 0)


@dataclass(slots=True)
class Logs:
    """Container logs of one instance, `chat`."""

    asked: list[tuple[str, int, bool]] = field(default_factory=list)

    def read(self, name: str, lines: int, previous: bool) -> LogExcerpt:
        """The last of 300 lines."""
        self.asked.append((name, lines, previous))
        if name != "chat":
            raise UsageError(f"there is no instance {name}")
        if previous:
            raise NotFound("chat has no earlier container")
        return LogExcerpt("c1", "chat-01234567-1", tuple(f"line {number}" for number in range(301 - lines, 301)))


@dataclass(slots=True)
class Served:
    """Both ends and what lies between them."""

    server: Server
    client: SocketClient
    board: Board
    metrics: Metrics
    ear: Ear
    journal: Journal
    logs: Logs


@contextmanager
def served(socket_path: Path) -> Iterator[Served]:
    """A started server."""
    board, metrics, ear, journal, logs = Board(), Metrics(), Ear(), Journal(), Logs()
    server = Server("127.0.0.1:0", socket_path, board, ear, metrics, journal.read, logs.read)
    server.start()
    try:
        yield Served(server, SocketClient(socket_path), board, metrics, ear, journal, logs)
    finally:
        server.stop()
