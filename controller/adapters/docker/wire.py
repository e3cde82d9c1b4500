"""Bounded HTTP to the engine: every request has a time limit and a size limit, and every failure is one of Steward's errors.

The SDK gives the transport, the version negotiation and the credential file. Its own calls are not used: some of them have no
timeout at all (pull, events), others ask the engine more than is needed (logs inspects the container first).
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

import requests
import urllib3
from docker import APIClient
from docker.errors import DockerException

from controller.adapters.docker.translate import refusal
from controller.errors import EngineUnreachable, StewardError
from controller.settings import Bounds

DEFAULT_HOST: Final = "unix:///var/run/docker.sock"
ANSWER_BYTES: Final = 64 * 1024 * 1024
"""Cap of one JSON answer: a list of some ten thousand containers."""
LINE_BYTES: Final = 1024 * 1024
"""Cap of one line of a stream."""
_UNIX: Final = "unix://"
_CHUNK: Final = 65536
_REFUSED: Final = 400


class NoAnswer(EngineUnreachable):
    """The engine took the request and then said nothing in time."""


class Silence(NoAnswer):
    """A stream that had begun went quiet, or lasted longer than it may."""


class Wire:
    """One engine and a pool of connections to it; safe to share between threads."""

    def __init__(self, host: str | None, bounds: Bounds) -> None:
        """Remember where; connect later."""
        self.host = host or DEFAULT_HOST
        self.bounds = bounds
        self._sdk: APIClient | None = None
        self._lock = threading.Lock()

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """The JSON answer of a read."""
        return self._call("GET", path, params, None, self.bounds.docker_read)

    def post(self, path: str, params: Mapping[str, Any] | None = None, body: Any = None, timeout: float | None = None) -> Any:
        """The JSON answer of a write, or None when the engine answers without a body."""
        return self._call("POST", path, params, body, timeout or self.bounds.docker_write)

    def delete(self, path: str, params: Mapping[str, Any] | None = None) -> None:
        """A removal."""
        self._call("DELETE", path, params, None, self.bounds.docker_write)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        silence: float,
        total: float,
    ) -> Iterator[Iterator[bytes]]:
        """Pieces of an answer as they arrive; `silence` bounds the wait for each, `total` the whole."""
        with self._open(method, path, params, None, silence, headers or {}) as response:
            yield self._pieces(response, total)

    def api_version(self) -> str:
        """The API version that was agreed on."""
        self._knock()
        return self._connected().api_version

    def platform(self) -> str:
        """What the engine runs, such as `linux/amd64`."""
        version = self.get("/version")
        return f"{version['Os']}/{version['Arch']}"

    def close(self) -> None:
        """Close the idle connections; the next call opens new ones."""
        with self._lock:
            sdk, self._sdk = self._sdk, None
        if sdk is not None:
            sdk.close()

    def _call(self, method: str, path: str, params: Mapping[str, Any] | None, body: Any, timeout: float) -> Any:
        with self._open(method, path, params, body, timeout, {}) as response:
            data = self._whole(response, timeout)
        if not data:
            return None
        try:
            return json.loads(data)
        except ValueError as error:
            raise EngineUnreachable(f"{method} {path}: the answer of {self.host} was cut or is not JSON") from error

    @contextmanager
    def _open(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any] | None,
        body: Any,
        timeout: float,
        headers: Mapping[str, str],
    ) -> Iterator[requests.Response]:
        self._knock()
        sdk = self._connected()
        url = f"{sdk.base_url}/v{sdk.api_version}{path}"
        limits = (self.bounds.docker_read, timeout)
        try:
            response = sdk.request(
                method, url, params=params, json=body, headers=headers, timeout=limits, stream=True, allow_redirects=False
            )
        except requests.RequestException as error:
            raise self._lost(error, sdk) from error
        try:
            if response.status_code >= _REFUSED:
                raise self._refused(f"{method} {path}", response, sdk)
            yield response
        finally:
            response.close()

    def _knock(self) -> None:
        """See whether anybody listens: the SDK leaves a socket open for each time that nobody does."""
        if not self.host.startswith(_UNIX):
            return
        try:
            with socket.socket(socket.AF_UNIX) as door:
                door.settimeout(self.bounds.docker_read)
                door.connect(self.host.removeprefix(_UNIX))
        except OSError as error:
            self.close()
            raise EngineUnreachable(f"the Docker engine at {self.host} does not answer: {cause_of(error)}") from error

    def _connected(self) -> APIClient:
        if not self._lock.acquire(timeout=self.bounds.docker_read):
            raise EngineUnreachable(f"the Docker engine at {self.host} has not answered for {self.bounds.docker_read:g} s")
        try:
            if self._sdk is None:
                self._sdk = self._negotiate()
            return self._sdk
        finally:
            self._lock.release()

    def _negotiate(self) -> APIClient:
        pool = self.bounds.workers + 8
        try:
            sdk = APIClient(self.host, "auto", timeout=max(1, int(self.bounds.docker_read)), max_pool_size=pool)
        except (requests.RequestException, DockerException, OSError, ValueError) as error:
            raise EngineUnreachable(f"the Docker engine at {self.host} does not answer: {cause_of(error)}") from error
        sdk.trust_env = False  # a proxy or a netrc of the user's shell is not meant for the engine's socket
        return sdk

    def _refused(self, call: str, response: requests.Response, sdk: APIClient) -> StewardError:
        error = refusal(call, response.status_code, self._sentence(response))
        if isinstance(error, EngineUnreachable):
            self._forget(sdk)
        return error

    def _lost(self, error: Exception, sdk: APIClient) -> EngineUnreachable:
        if isinstance(error, requests.Timeout):
            return NoAnswer(f"the Docker engine at {self.host} gave no answer in time")
        self._forget(sdk)
        return EngineUnreachable(f"the Docker engine at {self.host} does not answer: {cause_of(error)}")

    def _forget(self, sdk: APIClient) -> None:
        """Negotiate again next time: what answers at this address then may be an engine of another version."""
        with self._lock:
            if self._sdk is sdk:
                self._sdk = None
        sdk.close()

    def _pieces(self, response: requests.Response, total: float) -> Iterator[bytes]:
        """Bytes as they arrive, so that a slow answer meets its deadline between any two of them."""
        deadline = time.monotonic() + total
        while True:
            try:
                piece = response.raw.read1(_CHUNK, decode_content=True)
            except (urllib3.exceptions.TimeoutError, TimeoutError) as error:
                raise Silence(f"the Docker engine at {self.host} went quiet in the middle of an answer") from error
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise EngineUnreachable(f"the Docker engine at {self.host} cut its answer: {cause_of(error)}") from error
            if not piece:
                return
            yield piece
            if time.monotonic() > deadline:
                raise Silence(f"the Docker engine at {self.host} did not finish its answer within {total:g} s")

    def _whole(self, response: requests.Response, timeout: float) -> bytes:
        data = bytearray()
        for piece in self._pieces(response, timeout):
            data += piece
            if len(data) > ANSWER_BYTES:
                raise EngineUnreachable(f"an answer of {self.host} is larger than {ANSWER_BYTES} bytes")
        return bytes(data)

    def _sentence(self, response: requests.Response) -> str | None:
        """The engine's own words about a refusal, or None when the answer is not the engine's (a proxy's page)."""
        try:
            document = json.loads(self._whole(response, self.bounds.docker_read))
        except ValueError:
            return None
        message = document.get("message") if isinstance(document, dict) else None
        return message if isinstance(message, str) else None


def segment(text: str) -> str:
    """One id, name or image reference as part of a path."""
    return quote(text, safe="/:@")


def documents(pieces: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream, one a line; a line that is not one is an answer that was cut."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > LINE_BYTES:
            raise EngineUnreachable("a line of the engine's stream is too long")
        yield from (_document(line) for line in lines if line.strip())
    if rest.strip():
        yield _document(rest)


def _document(line: bytes) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError as error:
        raise EngineUnreachable("the engine's stream was cut") from error
    if not isinstance(document, dict):
        raise EngineUnreachable("the engine's stream holds something that is not an object")
    return document


def cause_of(error: BaseException) -> str:
    """The innermost reason of a transport error in a few words: the outer ones only repeat it."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, PermissionError):
            return "permission denied (is this user in the group that owns the socket?)"
        if isinstance(seen, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError):
            return "no answer in time"
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror.lower()
        inner = next((arg for arg in seen.args if isinstance(arg, BaseException)), None)
        seen = inner or seen.__cause__ or seen.__context__
    return str(error) or type(error).__name__
