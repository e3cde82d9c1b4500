"""A real server on a free port and a real socket, for the tests of both ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controller.model.events import Command, Event, Reply
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
class Served:
    """Both ends and what lies between them."""

    server: Server
    client: SocketClient
    board: Board
    metrics: Metrics
    ear: Ear
    journal: Journal


@contextmanager
def served(socket_path: Path) -> Iterator[Served]:
    """A started server."""
    board, metrics, ear, journal = Board(), Metrics(), Ear(), Journal()
    server = Server("127.0.0.1:0", socket_path, board, ear, metrics, journal.read)
    server.start()
    try:
        yield Served(server, SocketClient(socket_path), board, metrics, ear, journal)
    finally:
        server.stop()
