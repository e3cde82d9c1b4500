"""The two questions of a supervisor: is the process worth keeping, and is there something to read. Pure."""

from __future__ import annotations

from typing import Final, TypedDict

from controller.model.status import Status, Truth

STALE_AFTER_S: Final = 120.0
"""A pass begins every few seconds and takes at most a few read bounds of an engine that does not answer."""


class HealthDocument(TypedDict):
    """Answer of /healthz."""

    alive: bool
    last_pass_age_s: float


class ReadinessDocument(TypedDict):
    """Answer of /readyz; `config_accepted` is True, False or Unknown."""

    ready: bool
    config_accepted: str
    converged: bool


def health(pass_age_s: float) -> tuple[int, HealthDocument]:
    """200 while passes end, 503 when the last one is too long ago."""
    alive = pass_age_s <= STALE_AFTER_S
    return 200 if alive else 503, {"alive": alive, "last_pass_age_s": round(pass_age_s, 3)}


def readiness(status: Status | None) -> tuple[int, ReadinessDocument]:
    """200 once a pass has ended: a refused revision is told in the body, the accepted one is served on."""
    if status is None:
        return 503, {"ready": False, "config_accepted": Truth.UNKNOWN.value, "converged": False}
    accepted = next((c.status for c in status.conditions if c.type == "ConfigAccepted"), Truth.UNKNOWN)
    return 200, {"ready": True, "config_accepted": accepted.value, "converged": status.converged}
