"""How long one pass takes when every instance is ready: the loop's own code on an engine in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator

from controller.simulation.memory_world import MemoryClock
from tests.bench.figure import Figure
from tests.loop.rig import MemoryRig, entry, estate

AIMS = {8: "<= 20 ms", 64: "<= 60 ms", 1000: "<= 300 ms"}
PASSES = {8: 200, 64: 100, 1000: 20}


def pass_time() -> Iterator[Figure]:
    """Milliseconds of a pass that observes anew, and of one that only folds in probes."""
    for count, aim in AIMS.items():
        rig = _ready(count)
        for kind, triggers in (("relist", ("relist",)), ("probes only", ())):
            samples = []
            for _ in range(PASSES[count]):
                rig.clock.advance(1.0)
                began = time.perf_counter()
                rig.step(*triggers)
                samples.append((time.perf_counter() - began) * 1000)
            yield Figure(f"pass, {count} instances, {kind}", "ms", aim, tuple(samples))


def _ready(count: int) -> MemoryRig:
    """A rig whose instances are all ready."""
    entries = [entry(f"e{n}", 1024 + n, more="health: {interval: 5s}") for n in range(count)]
    rig = MemoryRig(estate(*entries, rig="{boot: {parallel: 4, stagger: 0s}}"))
    assert isinstance(rig.clock, MemoryClock)
    for _ in range(count * 4):
        rig.step("relist")
        if rig.last is not None and rig.last.status.converged:
            return rig
        rig.clock.advance(3.0)
    raise AssertionError(f"{count} instances did not get ready")
