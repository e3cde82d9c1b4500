"""The port Host on Linux: listening ports, memory and free disk, each a bounded read."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

from controller.adapters.bounded_call import BoundedCall, NoAnswer
from controller.adapters.linux_sockets import Holders, listening
from controller.model.observed import Listener
from controller.model.reading import Known, Reading, Unknown
from controller.ports import HostMemory
from controller.settings import Bounds

_KIB: Final = 1024
_MOST_PATHS: Final = 256


class LinuxHost:
    """The machine that `proc` describes; a Steward in a container may have the host's mounted elsewhere."""

    def __init__(self, bounds: Bounds | None = None, proc: Path = Path("/proc"), shm: Path = Path("/dev/shm")) -> None:
        """`shm` is the host's shared memory."""
        self._seconds = (bounds or Bounds()).host_read
        self._proc = proc
        self._shm = shm
        self._holders = Holders(proc)
        self._disks: dict[str, BoundedCall[int]] = {}
        self._lock = threading.Lock()

    def listeners(self) -> Reading[tuple[Listener, ...]]:
        """TCP ports that something listens on, with process where this user may see it."""
        try:
            with self._lock:
                return Known(self._holders.name(listening(self._proc)))
        except (OSError, ValueError) as error:
            return Unknown(f"the table of listening ports is not readable: {_short(error)}")

    def memory(self) -> Reading[HostMemory]:
        """RAM."""
        try:
            lines = (self._proc / "meminfo").read_text().splitlines()
            values = {name: int(rest.split()[0]) * _KIB for name, _, rest in (line.partition(":") for line in lines) if rest}
            shm = os.statvfs(self._shm)
            return Known(HostMemory(values["MemTotal"], values["MemAvailable"], shm.f_blocks * shm.f_frsize))
        except KeyError as error:
            return Unknown(f"the kernel does not tell {error.args[0]}")
        except (OSError, ValueError, IndexError) as error:
            return Unknown(f"the memory of the host is not readable: {_short(error)}")

    def disk_free(self, path: str) -> Reading[int]:
        """Bytes free on the file system of the nearest existing parent of `path`."""
        try:
            return Known(self._disk(path)())
        except NoAnswer as silence:
            return Unknown(f"the file system of {path} {silence}")
        except (OSError, ValueError) as error:
            return Unknown(f"the file system of {path} is not readable: {_short(error)}")

    def _disk(self, path: str) -> BoundedCall[int]:
        """One question per path, kept so that one that hangs is not asked twice."""
        with self._lock:
            if path not in self._disks:
                if len(self._disks) >= _MOST_PATHS:
                    self._disks.pop(next(iter(self._disks)))
                self._disks[path] = BoundedCall(lambda: _free(Path(path)), self._seconds, "disk")
            return self._disks[path]


def _free(path: Path) -> int:
    for place in (path, *path.parents):
        try:
            disk = os.statvfs(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        return disk.f_bavail * disk.f_frsize
    raise FileNotFoundError(f"{path} has no existing parent")


def _short(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
