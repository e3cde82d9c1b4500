"""Lets a simulated rig follow its file while it runs, as the loop follows the estate."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from controller.errors import EstateInvalid
from controller.model.events import Event
from controller.ports import Recorder
from controller.settings import Bounds
from controller.sources.watcher import FileWatcher

if TYPE_CHECKING:
    from controller.app.simulated import SimulatedRig


class RigFileFollower:
    """A thread that reads the file again once it has been quiet for a moment after a change; what came of it is told."""

    def __init__(self, rig: SimulatedRig, file: Path, bounds: Bounds, narrator: Recorder) -> None:
        """Nothing runs before start()."""
        self._rig = rig
        self._bounds = bounds
        self._narrator = narrator
        self._said = ""
        self._stop = threading.Event()
        self._changed = threading.Event()
        self._watcher = FileWatcher((file,), self)
        self._thread = threading.Thread(target=self._run, name="rig-file", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._watcher.start()
        self._thread.start()

    def stop(self) -> None:
        """End within the watcher's bound."""
        self._stop.set()
        self._changed.set()
        self._watcher.stop()

    def wake(self, trigger: str) -> None:  # noqa: ARG002 - implements ports.Wakeups
        """The file may have changed."""
        self._changed.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._changed.wait(self._bounds.poll)
            while self._changed.is_set() and not self._stop.is_set():
                self._changed.clear()
                self._stop.wait(self._bounds.settle)
            if not self._stop.is_set():
                self._reload()

    def _reload(self) -> None:
        try:
            changed = self._rig.reload()
        except EstateInvalid as refused:
            first = refused.problems[0]
            more = f" (and {len(refused.problems) - 1} more)" if len(refused.problems) > 1 else ""
            place = f"{first.place}: " if first.place else ""
            self._refused(f"{place}{first.message}{more}" + (f"; {first.hint}" if first.hint else ""))
            return
        self._said = ""
        if changed:
            self._tell("SimulationChanged", "engines and cards do what the rig file says")

    def _refused(self, sentence: str) -> None:
        """Told once, however often the file is looked at."""
        if sentence != self._said:
            self._said = sentence
            self._tell("SimulationRefused", f"the rig file is not followed: {sentence}", "warning")

    def _tell(self, kind: str, message: str, level: str = "info") -> None:
        self._narrator.event(Event(self._rig.clock.now(), kind, message, level=level))
