"""One file's bytes as they stood at one moment, or why they cannot be had: a torn read is never passed on."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ATTEMPTS: Final = 3
"""Reads of something that changes meanwhile, before that is reported."""
_CHUNK: Final = 1 << 20
_STALE: Final = "another file took its place, but a mount of the file alone shows the old one for ever"
_MOUNTS: Final = Path("/proc/self/mountinfo")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
"""How the kernel writes a space in a path."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells two states of a file apart without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class FileBytes:
    """What was read, and the stamp of the file that it came from."""

    data: bytes
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why there are no bytes and what to do; `gone` when there is no such file."""

    reason: str
    gone: bool = False
    hint: str = "look at the file"


def read_stable(path: Path, limit: int) -> FileBytes | Unreadable:
    """The bytes of a regular file of at most `limit` bytes; symlinks are followed."""
    for _ in range(ATTEMPTS):
        found = _read_once(path, limit)
        if found is not None:
            return found
    return Unreadable("it changes while it is read")


def stamp_of(path: Path) -> Stamp | None:
    """The present stamp, or None when the path leads nowhere."""
    try:
        return _stamp(path.stat())
    except (OSError, ValueError):
        return None


def link_stamp(path: str) -> Stamp | None:
    """The present stamp of a symlink itself, which each swap makes anew whatever it points to; None where nothing is."""
    try:
        return _stamp(os.lstat(path))
    except (OSError, ValueError):
        return None


def _read_once(path: Path, limit: int) -> FileBytes | Unreadable | None:
    """None when the file changed between the first byte and the last."""
    try:
        # Without O_NONBLOCK the open of a named pipe would wait for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        return _unreadable(error)
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            return Unreadable("it is not a regular file")
        if before.st_size > limit:
            return Unreadable(f"it is larger than {limit / 2**20:.1f} MiB, the most that is read", hint="split it into several")
        data = _bytes_of(handle, limit + 1)
        after = os.fstat(handle)
        if after.st_nlink == 0 and _is_stale_mount(path):
            return Unreadable(_STALE, hint="mount its folder instead of the file")
    except OSError as error:
        return _unreadable(error)
    finally:
        os.close(handle)
    whole = _stamp(before) == _stamp(after) and len(data) == after.st_size
    return FileBytes(data, _stamp(after)) if whole else None


def _is_stale_mount(path: Path) -> bool:
    """Whether the path is a mount of one file that was replaced where it comes from, as careful editors do at each save."""
    real = os.path.realpath(path)
    try:
        lines = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return False
    mounts = [[_OCTAL.sub(lambda code: chr(int(code[1], 8)), field) for field in line.split(" ")] for line in lines]
    return any(mount[4] == real and mount[3].endswith("//deleted") for mount in mounts if len(mount) > 4)


def _bytes_of(handle: int, most: int) -> bytes:
    parts: list[bytes] = []
    left = most
    while left > 0 and (part := os.read(handle, min(_CHUNK, left))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _unreadable(error: OSError | ValueError) -> Unreadable:
    reason = (error.strerror if isinstance(error, OSError) else None) or "the path cannot be used"
    return Unreadable(reason.lower(), gone=isinstance(error, FileNotFoundError | NotADirectoryError))
