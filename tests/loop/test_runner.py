"""The loop around the passes: what it does when a pass fails, and when it is done."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.errors import OutOfSpace
from controller.loop.run import Runner, is_settled, is_stuck
from controller.loop.wakeups import WakeupQueue
from controller.model.events import Event
from controller.model.rig import RigFacts
from controller.settings import Bounds
from controller.store.sqlite import SqliteStore
from reconcilers.rig import RigReconcilers
from tests.loop.rig import MemoryRig, entry, estate

ONE = estate(entry("chat", 8010))


class FullStore(SqliteStore):
    """A store on a full disk."""

    full = True

    def append(self, event: Event) -> Event:
        """Fails while the disk is full."""
        if self.full:
            raise OutOfSpace("no space left on the state's disk")
        return super().append(event)


@dataclass
class Waiting(WakeupQueue):
    """Wake-ups that move the rig's clock instead of waiting."""

    rig: MemoryRig
    waits: list[float] = field(default_factory=list)

    def wait(self, timeout_s: float) -> frozenset[str]:
        """Let that much time pass."""
        self.waits.append(timeout_s)
        self.rig.clock.advance(max(0.05, timeout_s))
        return frozenset()


def runner(rig: MemoryRig) -> tuple[Runner, Waiting]:
    """The runner of a rig in memory."""
    wakeups = Waiting(rig)
    return Runner(rig.loop, wakeups, rig.clock, rig.recorder), wakeups


def test_it_runs_until_the_rig_is_settled() -> None:
    """Given a new estate, when the runner goes until it is settled, then the engine is ready."""
    rig = MemoryRig(ONE)
    status = runner(rig)[0].until(is_settled, lambda: rig.clock.mono > 1100)
    assert status is not None
    assert status.converged
    assert not is_stuck(status)


def test_a_full_disk_is_said_and_survived() -> None:
    """Given a store that cannot write, when it has room again, then the rig converges; meanwhile it was told."""
    store = FullStore(":memory:", Bounds())
    rig = MemoryRig(ONE, store=store)
    going, _ = runner(rig)
    going.until(is_settled, lambda: rig.clock.mono > 1030)
    assert any(e.kind == "JournalFailed" and "no space left" in e.message for e in rig.recorder.events)
    store.full = False
    status = going.until(is_settled, lambda: rig.clock.mono > 1200)
    assert status is not None
    assert status.converged


class Broken(RigReconcilers):
    """Reconcilers with a mistake of ours in them."""

    def cards(self) -> RigFacts:
        """Fails as only a mistake does."""
        raise ZeroDivisionError("division by zero")


def test_an_error_of_ours_does_not_end_the_loop() -> None:
    """Given a pass that raises something unforeseen, when it is tried again, then the pauses grow and it is said once."""
    rig = MemoryRig(ONE)
    rig.loop.reconcilers = Broken(rig.world(), Bounds())
    going, wakeups = runner(rig)
    ends = rig.clock.mono + 100
    going.until(is_settled, lambda: rig.clock.mono > ends)
    assert wakeups.waits[:4] == [1.0, 2.0, 4.0, 8.0]
    assert rig.kinds().count("PassFailed") == 1
    assert "ZeroDivisionError" in rig.recorder.events[-1].message


def test_a_refused_estate_is_stuck_and_a_stalled_one_too() -> None:
    """Given a broken file, or a boot that failed, when the runner looks, then it knows that only a person can help."""
    rig = MemoryRig("estate: [")
    status = runner(rig)[0].until(is_stuck, lambda: rig.clock.mono > 1100)
    assert status is not None
    assert is_stuck(status)
