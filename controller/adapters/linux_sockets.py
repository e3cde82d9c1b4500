"""Listening TCP sockets and who holds them, from the kernel's tables below /proc."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from pathlib import Path
from typing import Final

from controller.model.observed import Listener

_LISTEN: Final = "0A"
_WORD: Final = 8
"""Hex digits of the 32-bit words in which the kernel prints an address, each in the machine's own byte order."""
_LOCAL, _STATE, _INODE = 1, 3, 9
_MOST_PROCESSES: Final = 8192
_MOST_SOCKETS: Final = 4096


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """One line of the table."""

    address: str
    port: int
    inode: int


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has the socket open."""

    pid: int
    name: str


def listening(proc: Path) -> tuple[ListeningSocket, ...]:
    """Every TCP socket in state LISTEN; raises OSError when not even the IPv4 table can be read.

    The tables of process 1 come first: from a container that sees the host's processes they are the host's.
    """
    net = proc / "1/net" if _readable(proc / "1/net/tcp") else proc / "net"
    lines = (net / "tcp").read_text().splitlines()[1:]
    if _readable(net / "tcp6"):  # a kernel without IPv6 has none
        lines += (net / "tcp6").read_text().splitlines()[1:]
    return tuple(islice(_sockets(lines), _MOST_SOCKETS))


def _readable(path: Path) -> bool:
    return os.access(path, os.R_OK)


def _sockets(lines: list[str]) -> Iterator[ListeningSocket]:
    for line in lines:
        columns = line.split()
        if len(columns) > _INODE and columns[_STATE] == _LISTEN:
            address, _, port = columns[_LOCAL].partition(":")
            yield ListeningSocket(_address(address), int(port, 16), int(columns[_INODE]))


def _address(digits: str) -> str:
    words = (digits[start : start + _WORD] for start in range(0, len(digits), _WORD))
    raw = b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words)
    if len(raw) == 4:
        return str(IPv4Address(raw))
    long = IPv6Address(raw)
    return str(long.ipv4_mapped or long)


class Holders:
    """Remembers who holds which socket: the search through all processes is made only when a new socket listens."""

    def __init__(self, proc: Path) -> None:
        """Look below `proc`."""
        self._proc = proc
        self._known: dict[int, Holder | None] = {}

    def name(self, sockets: tuple[ListeningSocket, ...]) -> tuple[Listener, ...]:
        """The sockets with their processes, as far as this user may see them."""
        inodes = {socket.inode for socket in sockets}
        self._known = {inode: holder for inode, holder in self._known.items() if inode in inodes and self._stands(holder)}
        wanted = inodes - self._known.keys()
        if wanted:
            found = self._search(wanted)
            # one that cannot be found now belongs to somebody whose files are hidden, which does not change
            self._known.update({inode: found.get(inode) for inode in wanted})
        return tuple(_listener(socket, self._known[socket.inode]) for socket in sockets)

    def _stands(self, holder: Holder | None) -> bool:
        return holder is None or self._comm(holder.pid) == holder.name

    def _search(self, wanted: set[int]) -> dict[int, Holder]:
        links = {f"socket:[{inode}]": inode for inode in wanted}
        found: dict[int, Holder] = {}
        for folder in islice(self._processes(), _MOST_PROCESSES):
            for link in _open_files(folder):
                inode = links.pop(link, None)
                if inode is not None:
                    found[inode] = Holder(int(folder.name), self._comm(int(folder.name)))
            if not links:
                break
        return found

    def _processes(self) -> Iterator[Path]:
        try:
            yield from (entry for entry in self._proc.iterdir() if entry.name.isdigit())
        except OSError:
            return  # the table of sockets was readable, so their ports are still told

    def _comm(self, pid: int) -> str:
        try:
            return (self._proc / str(pid) / "comm").read_text(errors="replace").strip()
        except OSError:
            return ""


def _listener(socket: ListeningSocket, holder: Holder | None) -> Listener:
    if holder is None:
        return Listener(socket.address, socket.port)
    return Listener(socket.address, socket.port, holder.pid, holder.name)


def _open_files(process: Path) -> Iterator[str]:
    """What the process has open; nothing when it ended or belongs to somebody else."""
    try:
        entries = list((process / "fd").iterdir())
    except OSError:
        return
    for entry in entries:
        try:
            yield str(entry.readlink())
        except OSError:
            continue
