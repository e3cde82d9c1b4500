"""The socket of an engine: bound at once, listening only when told, so that a loading engine can refuse connections."""

from __future__ import annotations

import socket
import sys
import threading
from functools import partial
from socketserver import ThreadingTCPServer
from typing import Any, Final, NoReturn

from controller.simulation.engine.decoder import Decoder
from controller.simulation.engine.handler import Handler
from controller.simulation.engine.output import leave

MOST_THREADS: Final = 512
"""Connections beyond this many threads are closed at once."""


def bound(host: str, port: int) -> socket.socket:
    """A socket that has the port and does not listen; ends the process in an engine's words where it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        refuse(error, host, port)
    return listener


def refuse(error: OSError, host: str, port: int) -> NoReturn:
    """End the process as an engine does that cannot have its port."""
    leave(1, f"[Errno {error.errno}] {error.strerror}: could not bind {host}:{port}")


class Server(ThreadingTCPServer):
    """Answers on a bound socket."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, listener: socket.socket, decoder: Decoder) -> None:
        super().__init__(listener.getsockname(), partial(Handler, decoder), bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.decoder = decoder

    def listen(self) -> None:
        """Begin to listen and to answer."""
        # a listener that was handed over may have been exclusive; its connections must not keep the port from the next run
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.server_activate()
        except OSError as error:
            refuse(error, self.decoder.config.host, self.decoder.config.port)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for one more connection."""
        del request, client_address
        return threading.active_count() < MOST_THREADS

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep silent about a client that hung up."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
