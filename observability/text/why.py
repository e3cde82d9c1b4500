"""Why a row of the status is not fine, in one sentence. Pure."""

from __future__ import annotations

from typing import Final

from controller.model.plan import Plan
from controller.model.status import Condition, InstanceStatus, State, Truth

FINE_WHEN_FALSE: Final = frozenset(
    {
        "HistoryLost", "RigNameChanged", "NotPermitted", "Stalled", "RolledBack", "Quarantined", "Suspended", "Drifted",
        "CatalogueUpdate", "ImageMoved", "GpuIndexMoved", "OverlayUnverified", "OverlayPayloadMissing",
    }
)  # fmt: skip
"""Conditions whose truth is the exception; all others but Progressing are fine when True."""

UNTOLD: Final = frozenset({"NoSentinel", "NotLookedYet"})
"""Reasons of conditions that are shown with `-v` only: they hold by nature, or for a moment."""

SENTENCES: Final = {
    State.PENDING: "nothing of it runs yet",
    State.PREPARING: "its image and container are being made ready",
    State.WAITING_FOR_VRAM: "the memory of its cards is not free yet",
    State.STARTING: "the engine loads and does not serve yet",
    State.VERIFYING: "it serves and is watched until its first checks are over",
    State.BAKING: "it serves and is watched until its bake is over",
    State.READY: "it does not serve",
    State.DEGRADED: "it was ready and does not answer as it should",
    State.DRAINING: "it finishes its running requests before it stops",
    State.STOPPING: "its container is being stopped",
    State.STOPPED: "it is stopped",
    State.ROLLING_BACK: "the last good spec is being put back",
    State.STALLED: "nothing more is tried until the spec changes",
    State.SUSPENDED: "it is reported and not acted on",
}


def why(instance: InstanceStatus, plan: Plan) -> str:
    """The sentence, or nothing for a row that is fine."""
    steps = plan.of(instance.name)
    if instance.why:
        return instance.why
    if steps:
        waiting = next((step for step in steps if step.waiting_for is not None), None)
        return f"{waiting.action} waits for {waiting.waiting_for}" if waiting else f"next: {steps[0].action} ({steps[0].cause})"
    wrong = next((c for c in instance.conditions if c.type in FINE_WHEN_FALSE and _is_told(c)), None)
    if wrong is not None:
        return f"{wrong.type}: {wrong.message or wrong.reason}"
    fine = instance.state is State.STOPPED or (instance.state is State.READY and instance.ready)
    return "" if fine else SENTENCES[instance.state]


def _is_told(condition: Condition) -> bool:
    return condition.status is not Truth.FALSE and condition.reason not in UNTOLD


def is_fine(condition: Condition) -> bool:
    """Whether a condition needs nobody's attention; Unknown does."""
    if condition.type == "Progressing":
        return True
    return condition.status is (Truth.FALSE if condition.type in FINE_WHEN_FALSE else Truth.TRUE)
