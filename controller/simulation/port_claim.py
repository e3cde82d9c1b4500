"""A host port taken the way a container engine takes it: from the start of the container on, or not at all."""

from __future__ import annotations

import errno
import os
import socket
from typing import Final

from controller.errors import EnvironmentFault, PortTaken

_ANY: Final = "0.0.0.0"


def claim(name: str, bind: str, port: int) -> socket.socket:
    """A socket that holds the port without listening; raises PortTaken or EnvironmentFault in Docker's words.

    It is exclusive while nobody listens on it, so whoever does has to set SO_REUSEADDR again: connections that are still
    closing would keep the port from the next run otherwise.
    """
    door = socket.socket(socket.AF_INET6 if ":" in bind else socket.AF_INET, socket.SOCK_STREAM)
    try:
        if door.family is socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((bind or _ANY, port))
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    except OSError as error:
        door.close()
        raise _refusal(name, bind, port, error) from error
    return door


def _refusal(name: str, bind: str, port: int, error: OSError) -> EnvironmentFault:
    family, address = ("tcp6", f"[{bind}]") if ":" in bind else ("tcp4", bind or _ANY)
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    sentence = (
        f"driver failed programming external connectivity on endpoint {name}: "
        f"Error starting userland proxy: listen {family} {address}:{port}: bind: {reason}"
    )
    return (PortTaken if error.errno == errno.EADDRINUSE else EnvironmentFault)(sentence)
