"""How long a pass takes when every instance is ready, and how many of them a core does while everything goes wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

from controller.simulation.memory_world import MemoryClock
from tests.bench.figure import Figure
from tests.loop.meddling import FOREIGN, any_accident, any_wishes, calm, check, meddle, text
from tests.loop.rig import IMAGE, MemoryRig, entry, estate

AIMS = {8: "<= 20 ms", 64: "<= 60 ms", 1000: "<= 300 ms"}
PASSES = {8: 200, 64: 100, 1000: 20}
FOUR = ("a", "b", "c", "d")
STORIES = 10
CHAPTERS = 12


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


def steps_per_second() -> Iterator[Figure]:
    """Passes that one core does in a second, each with what always holds checked after it, over stories with fixed seeds."""
    samples = []
    for seed in range(STORIES):
        began = time.process_time()
        samples.append(_story(Random(seed)) / (time.process_time() - began))
    yield Figure("layer-1 steps, 4 instances, store in memory, invariants on", "steps/s", ">= 300", tuple(samples))


def _story(chance: Random) -> int:
    """Edits and accidents, with a calm stretch between them; how many passes they took."""
    rig, steps = MemoryRig(text(any_wishes(chance, FOUR))), 0
    rig.hand.foreign(FOREIGN, IMAGE, port=9999)
    rig.always = check
    for _ in range(CHAPTERS):
        rig.edit(text(any_wishes(chance, FOUR)))
        before, rig = rig, meddle(rig, any_accident(chance, FOUR))
        steps += before.steps if before is not rig else 0
        rig.run(chance.uniform(5, 60))
        calm(rig)
    return steps + rig.steps


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
