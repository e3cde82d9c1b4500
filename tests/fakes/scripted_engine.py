"""A Docker engine that answers with prepared bytes, for answers that a real engine gives only in its worst moments."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HANG = b""
"""As a piece: say nothing more until the test ends."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The raw pieces of one answer; after the last one the connection is closed."""

    pieces: tuple[bytes, ...]
    pause_s: float = 0.0


def answer(status: int = 200, body: object = None, *, raw: bytes | None = None) -> Answer:
    """A whole answer with a JSON body, or with these bytes in its place."""
    data = raw if raw is not None else (b"" if body is None else json.dumps(body).encode())
    head = f"HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return Answer((head.encode() + data,))


def refused(status: int, sentence: str) -> Answer:
    """A refusal in the engine's own form."""
    return answer(status, {"message": sentence})


def chunked(*pieces: bytes, pause_s: float = 0.0, complete: bool = True) -> Answer:
    """A stream of chunks."""
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = tuple(b"%x\r\n%s\r\n" % (len(piece), piece) if piece else HANG for piece in pieces)
    return Answer((head, *chunks, *((b"0\r\n\r\n",) if complete else ())), pause_s)


@dataclass(slots=True)
class ScriptedEngine:
    """Listens on a unix socket; `answers` maps a part of `METHOD path` to what is said, the longest match wins."""

    address: str
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def serve(self, listener: socket.socket) -> None:
        """Answer connections until the listener is closed."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def end(self) -> None:
        """Let hanging answers go."""
        self._over.set()

    def _converse(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(10)
            try:
                request, body = _read_request(connection)
                if request:
                    self.asked.append(request)
                    self.bodies.append(body)
                    self._say(connection, self._answer(request))
            except OSError:
                return

    def _answer(self, request: str) -> Answer:
        matching = sorted((part for part in self.answers if part in request), key=len)
        return self.answers[matching[-1]] if matching else refused(404, f"page not found: {request}")

    def _say(self, connection: socket.socket, said: Answer) -> None:
        for piece in said.pieces:
            if piece is HANG or not piece:
                self._over.wait(30)
                return
            connection.sendall(piece)
            if said.pause_s:
                self._over.wait(said.pause_s)


@contextmanager
def scripted_engine(folder: Path) -> Iterator[ScriptedEngine]:
    """A scripted engine that already knows how to say its version."""
    path = folder / "docker.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    engine = ScriptedEngine(f"unix://{path}")
    engine.answers["/version"] = answer(body={"ApiVersion": "1.41", "Os": "linux", "Arch": "amd64"})
    thread = threading.Thread(target=engine.serve, args=(listener,), daemon=True)
    thread.start()
    try:
        yield engine
    finally:
        engine.end()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=5)


def _read_request(connection: socket.socket) -> tuple[str, bytes]:
    """`METHOD path` and the body; empty for a connection that only knocked."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return "", b""
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return " ".join(head.split(b"\r\n")[0].decode().split(" ")[:2]), body
