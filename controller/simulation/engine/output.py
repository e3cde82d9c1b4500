"""Writes the engine's log, each piece at once, and ends the process."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Final, NoReturn

STDOUT: Final = 1
STDERR: Final = 2
_LOCK: Final = threading.Lock()
_PATIENCE_S: Final = 1.0
"""How long the end waits for a writer that nobody reads."""


def write(text: str, *, stderr: bool = False) -> None:
    """Write a piece of the log; what nobody reads any more is lost."""
    with _LOCK:
        _write(text, stderr)


def leave(code: int, line: str = "", *, stderr: bool = False) -> NoReturn:
    """End the process at once with a last line, whatever its threads do."""
    if _LOCK.acquire(timeout=_PATIENCE_S):
        _write(f"{line}\n" if line else "", stderr)
    os._exit(code)


def _write(text: str, stderr: bool) -> None:
    data = text.encode(errors="replace")
    with suppress(OSError):
        while data:
            data = data[os.write(STDERR if stderr else STDOUT, data) :]
