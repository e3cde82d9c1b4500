"""The port ContainerLogs on a Docker engine: the last lines, made safe to print."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from controller.adapters.docker.wire import Wire, segment
from controller.model.log_line import clean_lines
from controller.model.observed import LogTail

_STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?")
_HEADER: Final = 8
_STREAMS: Final = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the log and the stream that it came from."""

    stream: int
    data: bytes


class DockerLogs:
    """Logs over the wire."""

    def __init__(self, wire: Wire) -> None:
        """Use this connection."""
        self._wire = wire

    def tail(self, container: str, lines: int) -> LogTail:
        """The last lines, stdout and stderr in order, control characters removed."""
        bounds = self._wire.bounds
        params = {"stdout": 1, "stderr": 1, "timestamps": 1, "tail": max(1, lines)}
        path = f"/containers/{segment(container)}/logs"
        with self._wire.stream("GET", path, params, silence=bounds.docker_read, total=bounds.docker_read) as pieces:
            return tail_of(pieces, lines, bounds.log_tail_bytes)


def tail_of(pieces: Iterator[bytes], lines: int, limit: int) -> LogTail:
    """The tail from the raw answer, never holding much more than `limit` bytes of it."""
    kept: deque[Entry] = deque()
    size = 0
    for entry in _entries(pieces):
        kept.append(entry)
        size += len(entry.data)
        while size > limit and len(kept) > 1:
            size -= len(kept.popleft().data)
    text, stamp = _joined(kept)
    return LogTail(clean_lines(text[-limit:])[-lines:], f"{stamp} {hashlib.sha256(text.encode()).hexdigest()[:12]}")


def _joined(entries: Iterable[Entry]) -> tuple[str, str]:
    """The entries without their timestamps, and the last timestamp.

    A long line comes in several entries of one stream; where the other stream cuts in, a line ends.
    """
    text, stamp, stream = "", "", None
    parts: list[str] = []
    for entry in entries:
        if text and not text.endswith("\n") and entry.stream != stream:
            parts.append("\n")
        text, stream = entry.data.decode("utf-8", "replace"), entry.stream
        if match := _STAMP.match(text):
            stamp, text = match[1], text[match.end() :]
        parts.append(text)
    return "".join(parts), stamp


def _entries(pieces: Iterator[bytes]) -> Iterator[Entry]:
    """Log entries: frames with a header of 8 bytes, or, from a container with a terminal, plain lines."""
    buffer = bytearray()
    framed: bool | None = None
    for piece in pieces:
        buffer += piece
        if framed is None and len(buffer) >= _HEADER:
            framed = buffer[0] in _STREAMS and not any(buffer[1:4])
        if framed is not None:
            yield from _frames(buffer) if framed else _plain_lines(buffer)
    if buffer and not framed:
        yield Entry(0, bytes(buffer))


def _frames(buffer: bytearray) -> Iterator[Entry]:
    while len(buffer) >= _HEADER:
        end = _HEADER + int.from_bytes(buffer[4:_HEADER], "big")
        if len(buffer) < end:
            return
        yield Entry(buffer[0], bytes(buffer[_HEADER:end]))
        del buffer[:end]


def _plain_lines(buffer: bytearray) -> Iterator[Entry]:
    while (end := buffer.find(b"\n")) >= 0:
        yield Entry(0, bytes(buffer[: end + 1]))
        del buffer[: end + 1]
