"""Looks at everything once, changing nothing; what cannot be read is Unknown with its reason."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from controller.adapters.doctor.facts import Folder, MachineFacts, WantedPort
from controller.errors import StewardError
from controller.model.reading import Known, Reading, Unknown
from controller.ports import Containers, EngineFacts, EngineInfo, GpuProbe, Host
from controller.settings import Settings

T = TypeVar("T")

_TIMEX_BYTES: Final = 512
"""More than the kernel's structure has on any machine."""
_TIMEX_STATUS: Final = 40
"""Where 64-bit kernels put its status word."""
_UNSYNCHRONIZED: Final = 0x40
_POINTER_64: Final = 8


def gather(
    containers: Containers,
    engine: EngineInfo,
    gpus: GpuProbe,
    host: Host,
    settings: Settings,
    ports: Sequence[WantedPort],
    proc: Path = Path("/proc"),
) -> MachineFacts:
    """The machine as it is now; `proc` is where the kernel's settings are seen."""
    about = _reading(engine.info)
    return MachineFacts(
        engine=about,
        containers=_reading(containers.list) if isinstance(about, Known) else about,
        cards=gpus.read(),
        listeners=host.listeners(),
        memory=host.memory(),
        engine_disk=_engine_disk(about, host),
        state_disk=host.disk_free(str(settings.state)),
        inotify_watches=_number(proc / "sys/fs/inotify/max_user_watches"),
        inotify_instances=_number(proc / "sys/fs/inotify/max_user_instances"),
        clock_synchronized=clock_synchronized(),
        kernel=os.uname().release,
        state=folder_of(settings.state),
        locks=folder_of(settings.lock_dir),
        ports=tuple(ports),
    )


def _reading(read: Callable[[], T]) -> Reading[T]:
    try:
        return Known(read())
    except StewardError as error:
        return Unknown(str(error))


def _engine_disk(about: Reading[EngineFacts], host: Host) -> Reading[int]:
    if isinstance(about, Unknown):
        return about
    root = about.value.root_dir
    if not root or not Path(root).exists():
        return Unknown(f"{root or 'its folder'} is not on this machine: the engine is remote, or runs in a virtual machine")
    return host.disk_free(root)


def _number(path: Path) -> Reading[int]:
    try:
        return Known(int(path.read_text()))
    except (OSError, ValueError):
        return Unknown(f"{path} is not readable")


def folder_of(path: Path) -> Folder:
    """A folder, or where it would be made."""
    place = next((parent for parent in (path, *path.absolute().parents) if _status(parent) is not None), Path("/"))
    status = _status(place) or os.stat_result([0] * 10)
    return Folder(
        path=str(path),
        exists=place == path,
        place=str(place),
        is_folder=stat.S_ISDIR(status.st_mode),
        writable=os.access(place, os.W_OK | os.X_OK),
        mode=stat.S_IMODE(status.st_mode),
    )


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def clock_synchronized() -> Reading[bool]:
    """Whether the kernel counts its clock as synchronised; the question needs no rights and sets nothing."""
    if ctypes.sizeof(ctypes.c_void_p) != _POINTER_64:
        return Unknown("a 32-bit process cannot ask the kernel for its clock's state")
    try:
        ask = ctypes.CDLL(None, use_errno=True).adjtimex
    except (OSError, AttributeError):
        return Unknown("this C library has no way to ask for the clock's state")
    answer = ctypes.create_string_buffer(_TIMEX_BYTES)
    if ask(answer) < 0:
        return Unknown(f"the kernel does not tell the clock's state: {os.strerror(ctypes.get_errno()).lower()}")
    (status,) = struct.unpack_from("i", answer, _TIMEX_STATUS)
    return Known(not status & _UNSYNCHRONIZED)
