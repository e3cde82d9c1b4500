"""Whether another process writes to this rig, seen without touching its lock: taking it for a moment could keep one out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from controller.app.world import Parts
from controller.errors import EngineUnreachable
from controller.settings import Settings
from controller.store.lock import lock_path

_LOCKS: Final = Path("/proc/locks")


def writer_pid(settings: Settings, parts: Parts, rig_name: str) -> int | None:
    """The pid of the rig's writer; None when there is none, or the engine does not answer and so cannot be named."""
    try:
        path = lock_path(settings, parts.world.containers.engine_id(), rig_name)
        inode = path.stat().st_ino
        table = _LOCKS.read_text()
    except (EngineUnreachable, OSError):
        return None
    return next((pid for line in table.splitlines() if (pid := _holder(line, inode)) is not None), None)


def _holder(line: str, inode: int) -> int | None:
    """The pid of a held flock in a line such as `4: FLOCK ADVISORY WRITE 812 fe:00:1234 0 EOF`."""
    fields = line.split()
    held = len(fields) > 5 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == str(inode)
    return int(fields[4]) if held and fields[4].isdigit() and int(fields[4]) != os.getpid() else None
