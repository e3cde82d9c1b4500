"""Everything that a plan is a function of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.model.moment import Instant
from controller.model.observed import Observed
from controller.model.resolved import Resolved
from controller.model.track import Memory, Track


@dataclass(frozen=True, slots=True)
class Situation:
    """One pass's inputs: the same situation always gives the same plan. `tracks` is keyed by container id."""

    resolved: Resolved
    observed: Observed
    now: Instant
    tracks: Mapping[str, Track] = field(default_factory=dict)
    memory: Memory = Memory()
