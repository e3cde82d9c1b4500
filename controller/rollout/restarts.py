"""When an engine that died is started again. Pure; defaults and their sources: docs/defaults.md."""

from __future__ import annotations

from controller.model.observed import Container
from controller.model.situation import Situation
from controller.model.track import Restarts


def next_restart(situation: Situation, container: Container, reason: str, ready_for: float, reset_after: float) -> Restarts:
    """The restart after this exit: `restart.backoff` doubled for each exit in a row, at most `restart.backoff_cap`.

    It counts from one again after `ready_for` >= `reset_after` seconds of readiness, or with another spec.
    """
    identity = container.identity
    instance, spec_hash = (identity.instance, identity.spec_hash) if identity else ("", "")
    before = situation.memory.restarts.get(instance)
    in_a_row = before.count if before and before.spec_hash == spec_hash and ready_for < reset_after else 0
    wanted = situation.resolved.get(instance)
    pause = restart_pause(in_a_row, wanted.live.restart.backoff, wanted.live.restart.backoff_cap) if wanted else 0.0
    wall = situation.now.wall
    return Restarts(spec_hash, in_a_row + 1, wall, wall + pause, reason)


def restart_pause(earlier: int, first: float, cap: float) -> float:
    """Seconds to wait after `earlier` exits in a row before this one."""
    return float(min(cap, first * 2 ** min(earlier, 30)))
