"""Small servers that the probe's contract is held against: one that answers as told, and one that breaks HTTP as told."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Told:
    """One answer; a document is sent as JSON, text as it is."""

    status: int = 200
    body: object = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_for: threading.Event | None = None


@dataclass(slots=True)
class Heard:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    document: Any


class TellingServer(ThreadingHTTPServer):
    """Answers each path as told and keeps what it heard."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Told]) -> None:
        """Listen on a free port of the loopback address."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = dict(answers)
        self.heard: list[Heard] = []

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        self._tell(None)

    def do_POST(self) -> None:
        """Answer, after reading the body."""
        self._tell(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _tell(self, document: object) -> None:
        server = cast(TellingServer, self.server)
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.heard.append(Heard(self.command, self.path, headers, document))
        told = server.answers.get(self.path, Told(404, {"error": {"message": "no such path"}}))
        if told.wait_for is not None:
            told.wait_for.wait(30)
        body = told.body if isinstance(told.body, bytes) else _text(told.body).encode()
        try:
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


def _text(body: object) -> str:
    return body if isinstance(body, str) else json.dumps(body)


@contextmanager
def telling(answers: Mapping[str, Told]) -> Iterator[TellingServer]:
    """A server that answers until the block ends."""
    server = TellingServer(answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextmanager
def breaking(behave: Callable[[socket.socket, threading.Event], None]) -> Iterator[int]:
    """A port whose every connection is handed to `behave`, with an event that is set when the block ends."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            try:
                behave(connection, over)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
            threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(10)
        for thread in threads:
            thread.join(10)


def hang_up(connection: socket.socket, over: threading.Event) -> None:
    """As Docker's proxy does for a container that does not listen."""


def say_nothing(connection: socket.socket, over: threading.Event) -> None:
    """Accept and wait."""
    over.wait(30)


def free_port() -> int:
    """A port that nothing listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
