"""The clock that a running Steward has."""

from __future__ import annotations

import time
from itertools import pairwise

from controller.adapters.kernel_clock import KernelClock


def test_both_clocks_are_the_kernels() -> None:
    """Given a moment between two readings of the kernel's clocks, then the instant lies between them on both."""
    wall, mono = time.time(), time.monotonic()

    now = KernelClock().now()

    assert wall - 1 <= now.wall <= time.time() + 1
    assert mono <= now.mono <= time.monotonic()


def test_monotonic_time_never_runs_back() -> None:
    """Given many readings, then none is before the one that came earlier."""
    clock = KernelClock()

    assert all(before.mono <= after.mono for before, after in pairwise(clock.now() for _ in range(1000)))
