"""All that is left to do, in order, each step with its cause; printable, so that tests and people read the same plan."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller.model.identity import Identity
from controller.model.payload import PayloadNeed
from controller.model.profile import DialectName
from controller.model.resolved import ContainerSpec


class Action(StrEnum):
    """The effect of a step."""

    PULL = "pull"
    CREATE = "create"
    START = "start"
    UNPAUSE = "unpause"
    UPDATE = "update"
    WAIT_READY = "wait-ready"
    DRAIN = "drain"
    STOP = "stop"
    WAIT_VRAM = "wait-vram"
    REMOVE = "remove"
    PRUNE = "prune"
    RENAME = "rename"
    SET_POWER_LIMIT = "set-power-limit"


WAITS = frozenset({Action.WAIT_READY, Action.DRAIN, Action.WAIT_VRAM})
"""Steps without an effect of their own: they are over when an observation says so."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a step is there: the field that differs, from what, to what."""

    field: str
    old: str = ""
    new: str = ""

    def __str__(self) -> str:
        """`field: old -> new`, without the halves that are empty."""
        if self.old and self.new:
            return f"{self.field}: {self.old} -> {self.new}"
        return f"{self.field}: {self.new or self.old}" if self.new or self.old else self.field


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """What create needs: the identity (labels), the name, the spec and the image id to run (empty: by reference)."""

    identity: Identity
    name: str
    spec: ContainerSpec
    image_id: str = ""
    engine_cache_root: str = "/srv/engine-cache"
    dialect: DialectName = DialectName.SIMULATED
    """In whose manner a simulated rig serves it; a container engine does not care."""


@dataclass(frozen=True, slots=True)
class Step:
    """One node. It may run when `waiting_for` is None and none of `after` is in the plan any more.

    `target` is a container id, or of a pull the image reference or the payload's key; `timeout_s` bounds a stop from SIGTERM to
    SIGKILL; `name` is the new name of a rename; `spec_hash` is the spec that the step works towards.
    """

    id: str
    action: Action
    instance: str
    cause: Cause
    target: str = ""
    after: tuple[str, ...] = ()
    waiting_for: str | None = None
    spec_hash: str = ""
    name: str = ""
    timeout_s: float = 0.0
    create: CreateRequest | None = None
    need: PayloadNeed | None = None
    """Of a pull: the files of an overlay that it brings, instead of an image."""
    begun: bool = False
    """Of a drain: whether it goes on now, so that its clock runs; one that still waits for something else has not begun."""
    waits_for_memory: bool = False
    """Of a start: whether what it waits for is memory of its cards, which comes back without any event."""

    @property
    def is_wait(self) -> bool:
        """Whether it is only waited for."""
        return self.action in WAITS


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in order, notes for the reader, and when (monotonic seconds) a wait may end by time alone."""

    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    look_again_at: float | None = None

    def frontier(self) -> tuple[Step, ...]:
        """The steps that may run now."""
        open_ids = {step.id for step in self.steps}
        return tuple(
            step
            for step in self.steps
            if step.waiting_for is None and not step.is_wait and not open_ids.intersection(step.after)
        )

    def of(self, instance: str) -> tuple[Step, ...]:
        """The steps of one instance, in order."""
        return tuple(step for step in self.steps if step.instance == instance)
