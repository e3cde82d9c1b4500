"""Lets a coroutine wait for a blocking call without keeping the process alive for it.

The event loop's own thread pools are joined when the interpreter ends: a command that nobody will answer any more would hold
up the end of `steward run` for as long as it waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(job: Callable[[], T]) -> T:
    """What the job returns or raises; the job goes on alone when the waiting is given up."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value: T | None = None
        problem: BaseException | None = None
        try:
            value = job()
        except BaseException as error:  # noqa: BLE001 - the thread boundary: the waiting coroutine gets it
            problem = error
        with suppress(RuntimeError):  # the loop has ended, nobody waits any more
            loop.call_soon_threadsafe(settle, value, problem)

    threading.Thread(target=run, name="steward-http-job", daemon=True).start()
    return await future
