"""The kernel's two clocks, the only ones that a running Steward has."""

from __future__ import annotations

import time

from controller.model.moment import Instant


class KernelClock:
    """Wall time for display and for comparing with others, monotonic time for durations."""

    def now(self) -> Instant:
        """The present."""
        return Instant(wall=time.time(), mono=time.monotonic())
