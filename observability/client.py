"""Speaks to the running controller over its unix socket, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlencode

from controller.errors import EnvironmentFault, NotFound, StewardError, UsageError
from controller.model.events import Command, Reply
from observability.socket_path import addressable
from observability.wire import command_bytes, reply_from

ALIVE_S: Final = 3.0
READ_S: Final = 10.0
COMMAND_S: Final = 45.0
"""Longer than the loop's own bound for an answer, so that its sentence arrives rather than ours."""
ANSWER_BYTES: Final = 32 * 1024 * 1024


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket file."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Connect to the file instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with addressable(self._path) as address:
            self.sock.connect(address)


@dataclass(frozen=True, slots=True)
class _Answer:
    code: int
    body: bytes


@dataclass(frozen=True, slots=True)
class SocketClient:
    """Asks the controller of one state folder; every call opens a connection of its own and is bounded."""

    path: Path

    def alive(self) -> bool:
        """Whether a controller answers. Raises EnvironmentFault when this user may not ask it, or it answers too late."""
        try:
            self._ask("GET", "/healthz", None, ALIVE_S)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            return False
        except (OSError, http.client.HTTPException) as error:
            raise self._fault(error, ALIVE_S) from error
        return True

    def get(self, path: str) -> dict[str, Any]:
        """One JSON document; raises NotFound, UsageError or EnvironmentFault."""
        return _document(self._checked("GET", path, None, READ_S))

    def text(self, path: str, *, width: int, color: bool, verbose: bool) -> str:
        """One page as text for this terminal."""
        asked = {"format": "text", "width": min(max(width, 20), 1000), "color": int(color), "verbose": int(verbose)}
        return self._checked("GET", f"{path}?{urlencode(asked)}", None, READ_S).decode(errors="replace")

    def command(self, command: Command) -> Reply:
        """Ask the loop for something and wait for its answer."""
        return reply_from(_document(self._checked("POST", "/command", command_bytes(command), COMMAND_S)))

    def _checked(self, method: str, path: str, body: bytes | None, timeout_s: float) -> bytes:
        try:
            answer = self._ask(method, path, body, timeout_s)
        except (OSError, http.client.HTTPException) as error:
            raise self._fault(error, timeout_s) from error
        if answer.code != 200:
            raise _refusal(answer)
        return answer.body

    def _ask(self, method: str, path: str, body: bytes | None, timeout_s: float) -> _Answer:
        ends = time.monotonic() + timeout_s
        connection = _UnixConnection(self.path, timeout_s)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            response = connection.getresponse()
            return _Answer(response.status, _read(response, ends))
        finally:
            connection.close()

    def _fault(self, error: Exception, timeout_s: float) -> EnvironmentFault:
        if isinstance(error, PermissionError):
            return EnvironmentFault(f"the controller behind {self.path} belongs to another user; ask as that user")
        if isinstance(error, TimeoutError):
            return EnvironmentFault(f"the controller behind {self.path} did not answer within {timeout_s:.0f} s")
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            return EnvironmentFault(f"no controller listens on {self.path}; `steward run` starts one")
        return EnvironmentFault(f"the controller behind {self.path} broke off: {str(error) or type(error).__name__}")


def _read(response: http.client.HTTPResponse, ends: float) -> bytes:
    body = bytearray()
    while chunk := response.read1(65536):
        body += chunk
        if len(body) > ANSWER_BYTES:
            raise StewardError(f"the controller's answer is longer than {ANSWER_BYTES} bytes")
        if time.monotonic() > ends:
            raise TimeoutError
    if response.length:
        raise http.client.IncompleteRead(bytes(body), response.length)
    return bytes(body)


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError as error:
        raise StewardError("the controller's answer is not JSON; is another program on its socket?") from error
    if not isinstance(document, dict):
        raise StewardError("the controller's answer is not a JSON object")
    return cast(dict[str, Any], document)


def _refusal(answer: _Answer) -> StewardError:
    try:
        sentence = str(json.loads(answer.body)["error"])
    except (ValueError, KeyError, TypeError):
        sentence = f"the controller answered with {answer.code}"
    kinds: dict[int, type[StewardError]] = {404: NotFound, 413: UsageError, 422: UsageError}
    return kinds.get(answer.code, EnvironmentFault)(sentence)
