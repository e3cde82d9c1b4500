"""Serves the API on a TCP address and on a unix socket, both in one daemon thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import uvicorn
from fastapi import FastAPI

from controller.errors import StewardError
from controller.ports import Commands
from observability.api import Pages, ReadEvents, ReadLog, private_app, public_app
from observability.board import Board
from observability.journal import take_http_log
from observability.listening import BACKLOG, address_of, listen_tcp, listen_unix
from observability.metrics import Metrics

START_WITHIN_S: Final = 10.0
STOP_WITHIN_S: Final = 5.0
GRACE_S: Final = 1
"""How long answers under way may take once the server stops."""
IDLE_S: Final = 15
"""A kept connection without a request is closed after this; scrapers come every 15 s and open a new one."""
CONNECTIONS: Final = 128
"""At most so many at once on each address; more are answered with 503."""


class Server:
    """`start` listens or raises; `stop` ends within a bound. One server starts once."""

    def __init__(
        self,
        listen: str,
        socket_path: Path,
        board: Board,
        commands: Commands,
        metrics: Metrics,
        events_after: ReadEvents,
        read_log: ReadLog,
    ) -> None:
        """Keep what the pages are made from; nothing listens yet."""
        self._listen = listen
        self._socket_path = socket_path
        pages = Pages(board, metrics, events_after)
        self._public = _uvicorn(public_app(pages))
        self._private = _uvicorn(private_app(pages, commands, read_log))
        self._settled = threading.Event()
        self._address = listen
        self._undo = ExitStack()

    @property
    def address(self) -> str:
        """`HOST:PORT`, with the real port once it listens."""
        return self._address

    def start(self) -> None:
        """Return when both addresses answer; raises a StewardError that names the one that cannot be had."""
        take_http_log()
        with ExitStack() as undo:
            public = undo.enter_context(listen_tcp(self._listen))
            private = undo.enter_context(listen_unix(self._socket_path))
            undo.callback(_remove, self._socket_path, self._socket_path.lstat().st_ino)
            thread = threading.Thread(target=self._run, args=(public, private), name="steward-http", daemon=True)
            undo.callback(self._end, thread)
            self._address = address_of(public)
            thread.start()
            self._settled.wait(START_WITHIN_S)
            if not (self._public.started and self._private.started):
                raise StewardError(f"the HTTP server on {self._listen} did not start within {START_WITHIN_S:.0f} s")
            self._undo = undo.pop_all()

    def stop(self) -> None:
        """Close both addresses; a connection that does not end in time is cut. A second call does nothing."""
        self._undo.close()

    def _end(self, thread: threading.Thread) -> None:
        self._public.should_exit = self._private.should_exit = True
        thread.join(STOP_WITHIN_S)

    def _run(self, public: socket.socket, private: socket.socket) -> None:
        try:
            asyncio.run(self._serve(public, private))
        except Exception:
            logging.getLogger("uvicorn.error").exception("the HTTP server ended")
        finally:
            self._settled.set()

    async def _serve(self, public: socket.socket, private: socket.socket) -> None:
        pairs = ((self._public, public), (self._private, private))
        tasks = [asyncio.create_task(server.serve(sockets=[listener])) for server, listener in pairs]
        while not all(server.started for server, _ in pairs) and not any(task.done() for task in tasks):
            await asyncio.sleep(0.005)
        self._settled.set()
        await asyncio.gather(*tasks)


def _uvicorn(app: FastAPI) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=GRACE_S,
        )
    )


def _remove(path: Path, inode: int) -> None:
    """Take the socket file away, unless another process has put its own there."""
    try:
        if path.lstat().st_ino == inode:
            path.unlink()
    except FileNotFoundError:
        return
