"""The pause after an environment fault: doubling, capped, and spread so that many steps do not knock together."""

from __future__ import annotations

import zlib

from controller.model.track import Backoff
from controller.settings import Bounds


def next_backoff(before: Backoff | None, step_id: str, reason: str, now: float, bounds: Bounds) -> Backoff:
    """The backoff after one more fault of a step; `now` in monotonic seconds.

    The spread of up to a tenth comes from the step's id and count, so that a run can be repeated exactly.
    """
    attempts = (before.attempts if before else 0) + 1
    pause = min(bounds.backoff_cap, bounds.backoff_first * 2 ** min(attempts - 1, 30))
    spread = zlib.crc32(f"{step_id}/{attempts}".encode()) % 1000 / 10_000
    return Backoff(now + pause * (1 + spread), attempts, reason)
