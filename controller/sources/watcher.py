"""Wakes the loop when a watched file may have changed. Only an accelerator: the loop looks at the content all the time.

Folders are watched, never files, because a save that renames gives the file a new identity. Where symlinks stand on the way to
a file, their folders are watched too, and after each change the set of folders is worked out anew, on a thread of its own: the
thread that brings the events must never wait for one that adds a watch.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from controller.ports import Wakeups
from controller.sources.watched_folders import Names, concerns, folders_of

TRIGGER: Final = "file"

_log = logging.getLogger(__name__)
_STOP_S: Final = 2.0
_MOVES: Final[list[type[FileSystemEvent]]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
]
_EVENTS: Final = [*_MOVES, FileModifiedEvent, FileClosedEvent]
"""Opening and reading are no reason: our own reads would wake us for ever."""

_Identity: TypeAlias = tuple[str, int, int]


class FileWatcher(FileSystemEventHandler):
    """Watches paths that may be files or folders, present or not; never raises.

    `paths` is asked anew after every change, so it may be an iterable that looks at the disk. `problem` says why some changes
    are only found by polling, or is None.
    """

    def __init__(self, paths: Iterable[Path], wakeups: Wakeups) -> None:
        """Remember what to watch; `start` begins."""
        self.problem: str | None = None
        self._paths = paths
        self._wakeups = wakeups
        self._folders: Mapping[str, Names] = {}
        self._watches: dict[_Identity, ObservedWatch] = {}
        self._dead: set[str] = set()
        self._changed = threading.Event()
        self._stopping = False
        self._observer: BaseObserver | None = None
        self._armourer = threading.Thread(target=self._keep_armed, name="file-watcher", daemon=True)

    def start(self) -> None:
        """Begin; where that is not possible, `problem` says why."""
        try:
            observer = Observer()
            observer.start()
            self._observer = observer
            self._arm(observer)
            self._armourer.start()
        except (OSError, RuntimeError) as error:
            self._degrade(error)

    def stop(self) -> None:
        """End within a bounded time."""
        self._stopping = True
        self._changed.set()
        if self._armourer.is_alive():
            self._armourer.join(_STOP_S)
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(_STOP_S)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called by the observer's thread."""
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if not any(concerns(self._folders, path) for path in paths):
            return
        self._wakeups.wake(TRIGGER)
        if isinstance(event, tuple(_MOVES)):
            if isinstance(event, DirDeletedEvent):
                self._dead.update(paths)
            self._changed.set()

    def _keep_armed(self) -> None:
        while self._changed.wait() and not self._stopping:
            self._changed.clear()
            try:
                if self._observer is not None and self._arm(self._observer):
                    self._wakeups.wake(TRIGGER)
            except OSError as error:
                self._degrade(error)

    def _arm(self, observer: BaseObserver) -> bool:
        """Watch what must be watched now; whether a folder came, in which something may have changed before."""
        self._folders = folders_of(self._paths)
        wanted = {identity for identity in map(_identity, self._folders) if identity is not None}
        dead, self._dead = self._dead, set()
        for identity in [known for known in self._watches if known not in wanted or known[0] in dead]:
            self._drop(observer, identity)
        self.problem = None
        fresh = sorted(wanted - self._watches.keys())
        for identity in fresh:
            self._add(observer, identity)
        return bool(fresh)

    def _add(self, observer: BaseObserver, identity: _Identity) -> None:
        try:
            self._watches[identity] = observer.schedule(self, identity[0], event_filter=_EVENTS)
        except (OSError, RuntimeError) as error:
            self._degrade(error)

    def _drop(self, observer: BaseObserver, identity: _Identity) -> None:
        watch = self._watches.pop(identity)
        try:
            observer.unschedule(watch)
        except (OSError, RuntimeError, KeyError) as error:
            _log.debug("a watch was gone already: %s", error)

    def _degrade(self, error: Exception) -> None:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        self.problem = f"file events are not available ({reason}); changes are found by polling"
        _log.warning("%s", self.problem)


def _identity(folder: str) -> _Identity | None:
    """A folder that was replaced by another of the same name needs a new watch."""
    try:
        status = os.stat(folder)  # noqa: PTH116 - the watched folders are texts
    except (OSError, ValueError):
        return None
    return folder, status.st_dev, status.st_ino
