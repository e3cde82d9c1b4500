"""The rig names that this process writes to: a lock for each, kept until it ends, so that a rig renamed in the estate, too,
meets no other writer."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.errors import EnvironmentFault, LockHeld
from controller.settings import Settings
from controller.store.lock import WriterLock, writer_lock


@dataclass(slots=True)
class Claims:
    """Takes locks on one engine; only the loop's thread may ask."""

    settings: Settings
    engine_id: str
    _held: dict[str, WriterLock] = field(default_factory=dict)

    def take(self, rig: str) -> None:
        """Become the writer of this rig; raises LockHeld or EnvironmentFault."""
        if rig not in self._held:
            lock = writer_lock(self.settings, self.engine_id, rig)
            lock.acquire()
            self._held[rig] = lock

    def refusal(self, rig: str) -> str:
        """Become the writer of this rig, or why that cannot be."""
        try:
            self.take(rig)
        except (LockHeld, EnvironmentFault) as fault:
            return str(fault)
        return ""

    def release(self) -> None:
        """Let others be the writers."""
        while self._held:
            self._held.popitem()[1].release()
