"""HTTP with one deadline for a whole request: a server that sends a byte now and then cannot hold a lane.

httpx bounds each single read. Here the stream below it bounds them together: the timeout that a request is given counts
from its start to the last byte of its body. Every request has a connection of its own, so that it also tells whether the
engine accepts one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import httpcore
import httpx


class Unreachable(httpx.TransportError):
    """The address cannot be one, or no way leads there."""


class _Deadline(threading.local):
    """When (monotonic seconds) the request of the present thread must be over; one thread has one request at a time."""

    at: float = 0.0

    def left(self, timeout: float | None) -> float:
        """Seconds that remain, at most `timeout`; raises ReadTimeout when there are none."""
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout("the time for the whole request is over")
        return seconds if timeout is None else min(seconds, timeout)


class _Stream(httpcore.NetworkStream):
    """A connection that keeps to the deadline and tells a hang-up before the first byte from a broken answer.

    Docker's proxy accepts connections for a container that does not listen yet and then hangs up: to Steward that is
    the same as a refused connection.
    """

    def __init__(self, inner: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._inner = inner
        self._deadline = deadline
        self._heard = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes before the deadline."""
        try:
            data = self._inner.read(max_bytes, self._deadline.left(timeout))
        except httpcore.ReadError:
            if self._heard:
                raise
            data = b""
        if not data and not self._heard:
            raise httpcore.ConnectError("hung up without an answer")
        self._heard = True
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """All bytes before the deadline."""
        self._inner.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        """Close."""
        self._inner.close()

    def get_extra_info(self, info: str) -> object:
        """What the pool asks of a connection."""
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Opens connections that keep to the deadline."""

    def __init__(self, deadline: _Deadline) -> None:
        self._inner = httpcore.SyncBackend()
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect before the deadline; a refusal stays a ConnectError, an address that leads nowhere is Unreachable."""
        try:
            inner = self._inner.connect_tcp(host, port, self._deadline.left(timeout), local_address, socket_options)
        except httpcore.ConnectError as error:
            cause = error.__cause__
            words = (cause.strerror if isinstance(cause, OSError) else None) or str(error)
            if isinstance(cause, ConnectionError):
                raise httpcore.ConnectError(words.lower()) from cause
            raise Unreachable(words) from cause
        return _Stream(inner, self._deadline)


class _Body(httpx.SyncByteStream):
    """A body that is read as it comes."""

    def __init__(self, inner: Iterable[bytes]) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[bytes]:
        """Its parts."""
        with _translated():
            yield from self._inner

    def close(self) -> None:
        """Give the connection back, which closes it."""
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()


class DeadlineTransport(httpx.BaseTransport):
    """A transport for httpx.Client that takes the `read` timeout of a request as the bound of the whole of it."""

    def __init__(self, connections: int) -> None:
        """At most `connections` requests at once."""
        self._deadline = _Deadline()
        self._pool = httpcore.ConnectionPool(
            max_connections=connections, max_keepalive_connections=0, network_backend=_Backend(self._deadline)
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request and read the head of its answer."""
        seconds = float(request.extensions["timeout"]["read"])
        self._deadline.at = time.monotonic() + seconds
        wanted = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
            ),
            headers=request.headers.raw,
            content=request.read(),
            extensions={"timeout": {"pool": seconds}},
        )
        with _translated():
            answer = self._pool.handle_request(wanted)
        stream = answer.stream
        assert isinstance(stream, Iterable)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(stream), extensions=answer.extensions)

    def close(self) -> None:
        """Close what is open."""
        self._pool.close()


@contextmanager
def _translated() -> Iterator[None]:
    """The pool's exceptions as those of httpx."""
    try:
        yield
    except httpcore.TimeoutException as error:
        raise httpx.ReadTimeout(str(error)) from error
    except httpcore.ConnectError as error:
        raise httpx.ConnectError(str(error)) from error
    except httpcore.LocalProtocolError as error:
        raise httpx.LocalProtocolError("the request cannot be sent") from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise httpx.ReadError(str(error)) from error
