"""The two sockets that the API listens on: TCP for readers, a private unix socket for commands."""

from __future__ import annotations

import errno
import socket
import stat
from pathlib import Path
from typing import Final

from controller.errors import EnvironmentFault, LockHeld, PortTaken, StewardError, UsageError
from observability.socket_path import addressable

BACKLOG: Final = 64
ALIVE_WITHIN_S: Final = 2.0
"""How long the holder of an existing socket file has to accept; a dead one refuses at once."""


def listen_tcp(listen: str) -> socket.socket:
    """Listen on `HOST:PORT` or `[IPV6]:PORT`; raises UsageError, PortTaken or EnvironmentFault."""
    host, port = _split(listen)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--listen {listen}: {host} is not an address of this machine") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(listen, error) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """`HOST:PORT` as a browser wants it, with the port that was really bound."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def listen_unix(path: Path) -> socket.socket:
    """Listen on a socket file that only its owner may use; the file of a dead process is replaced.

    Raises LockHeld when a live process listens there, StewardError when something else is in the way. The mode is set before
    the socket listens, so that nobody else can get in between.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _clear(path)
        with addressable(path) as address:
            listener.bind(address)
        path.chmod(0o600)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise EnvironmentFault(f"cannot make the command socket {path}: {error.strerror or error}") from error
    except StewardError:
        listener.close()
        raise
    return listener


def _split(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise UsageError(f"--listen {listen}: expected HOST:PORT, such as 127.0.0.1:9473")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def _refused(listen: str, error: OSError) -> StewardError:
    if error.errno == errno.EADDRINUSE:
        return PortTaken(f"cannot listen on {listen}: another process listens there; choose another address with --listen")
    return EnvironmentFault(f"cannot listen on {listen}: {error.strerror or error}; choose another address with --listen")


def _clear(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise StewardError(f"{path} is in the way of the command socket and is no socket; move it away")
    if _is_live(path):
        raise LockHeld(f"another Steward listens on {path}; stop it first, or choose another folder with --state")
    path.unlink(missing_ok=True)


def _is_live(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, addressable(path) as address:
        probe.settimeout(ALIVE_WITHIN_S)
        try:
            probe.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except TimeoutError:
            return True
    return True
