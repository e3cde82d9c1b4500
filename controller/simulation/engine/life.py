"""The life of one engine process: how old it is, what its script says at this moment, and in which state it is."""

from __future__ import annotations

import math
import threading
import time

from controller.simulation.engine.script import Script


class Life:
    """Shared by all threads. Whoever waits for a change of the script or of the requests waits on `changed`."""

    def __init__(self, script: Script, born: float) -> None:
        """`born` is the monotonic time of the start."""
        self.changed = threading.Condition()
        self.loading = True
        self.draining = False
        self.started_at = time.time() - (time.monotonic() - born)
        self._born = born
        self._script = script

    @property
    def age(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._born

    @property
    def script(self) -> Script:
        """The script with the changes that have come."""
        return self._script.at(self.age)

    @property
    def next_change(self) -> float:
        """The age at which the script changes next, infinite when it does not."""
        age = self.age
        return min((change.at_s for change in self._script.changes if change.at_s > age), default=math.inf)

    def follow(self, script: Script) -> None:
        """From now on this script holds; its moments still count from the start."""
        with self.changed:
            self._script = script
            self.changed.notify_all()
