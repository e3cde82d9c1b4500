"""One writer a rig: the kernel's lock on a file decides, and lets go when its holder dies, however it dies.

The pid in the file is there to be read by people; it is never believed. The file is never removed, for a lock on a removed
file keeps nobody out.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from controller.errors import EnvironmentFault, LockHeld
from controller.settings import Settings

_ATTEMPTS: Final = 10
"""How often a lock file that was replaced under our hands is opened anew before giving up."""


def lock_path(settings: Settings, engine_id: str, rig_name: str) -> Path:
    """Where the writer of this rig locks: per engine and rig name, or per state folder for a simulated rig."""
    if is_simulated(settings):
        return settings.state / "lock"
    engine = re.sub(r"[^A-Za-z0-9._-]", "_", engine_id) or "unknown"
    return settings.lock_dir / f"{engine}-{rig_name}.lock"


def writer_lock(settings: Settings, engine_id: str, rig_name: str) -> WriterLock:
    """The lock of this rig: shared by all users of the machine, or private to the state folder for a simulated rig."""
    return WriterLock(lock_path(settings, engine_id, rig_name), private=is_simulated(settings))


def is_simulated(settings: Settings) -> bool:
    """Whether the rig is `sim` or `sim:FILE`."""
    return settings.rig == "sim" or settings.rig.startswith("sim:")


class WriterLock:
    """The exclusive right to write to one rig, from `acquire` to `release` or the end of the process."""

    def __init__(self, path: Path, *, private: bool = False) -> None:
        """`private` makes a missing folder 0700 and the file 0600, instead of 1777 and 0666 for all users."""
        self.path = path
        self._folder_mode = 0o700 if private else 0o1777
        self._file_mode = 0o600 if private else 0o666
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self) -> None:
        """Take the lock at once; raises LockHeld naming the holder, or EnvironmentFault where the file cannot be used."""
        if self._descriptor is not None:
            return
        try:
            self._make_folder()
            self._descriptor = self._take()
        except OSError as error:
            raise EnvironmentFault(
                f"the lock {self.path} cannot be used: {error.strerror}; "
                "make its folder writable for all users (mode 1777) or name another one with STEWARD_LOCK_DIR"
            ) from error

    def release(self) -> None:
        """Let another process be the writer; the file stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        """Acquire."""
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Release."""
        self.release()

    def _make_folder(self) -> None:
        folder = self.path.parent
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=self._folder_mode & 0o777)
            folder.chmod(self._folder_mode)

    def _take(self) -> int:
        for _ in range(_ATTEMPTS):
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(descriptor):
                    _sign(descriptor)
                    return descriptor
            except BlockingIOError:
                holder = _holder(descriptor)
                os.close(descriptor)
                raise LockHeld(f"another Steward{holder} writes to this rig; it holds the lock {self.path}") from None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        raise EnvironmentFault(f"the lock {self.path} is removed again and again by another program")

    def _open(self) -> int:
        """Open the file, made where it is missing; never through a link, for the folder is open to every user.

        An existing file is opened without O_CREAT: in such a folder the kernel may refuse that for another user's file.
        """
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        for _ in range(_ATTEMPTS):
            try:
                return _regular(os.open(self.path, flags))
            except FileNotFoundError:
                with suppress(FileExistsError):
                    descriptor = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, self._file_mode)
                    os.fchmod(descriptor, self._file_mode)
                    return descriptor
            except PermissionError:
                return _regular(os.open(self.path, flags & ~os.O_RDWR | os.O_RDONLY))
        raise EnvironmentFault(f"the lock {self.path} is removed again and again by another program")

    def _is_current(self, descriptor: int) -> bool:
        """Whether the path still leads to the locked file, which a cleaner may have removed between open and lock."""
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.lstat())
        except FileNotFoundError:
            return False


def _regular(descriptor: int) -> int:
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a plain file of its own")


def _sign(descriptor: int) -> None:
    """Leave our pid for people; a full disk or a read-only descriptor must not keep the rig without a writer."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _holder(descriptor: int) -> str:
    try:
        text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return f" (pid {text})" if text.isascii() and text.isdigit() else ""
