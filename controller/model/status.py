"""The rig as it is told to people and machines: states, conditions, and the status document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.model.moment import Instant
from controller.model.observed import EngineMetrics
from controller.model.plan import Plan
from controller.model.problem import Problem
from controller.model.rig import Card


class State(StrEnum):
    """The life of an instance."""

    PENDING = "Pending"
    PREPARING = "Preparing"
    WAITING_FOR_VRAM = "WaitingForVram"
    STARTING = "Starting"
    VERIFYING = "Verifying"
    BAKING = "Baking"
    READY = "Ready"
    DEGRADED = "Degraded"
    DRAINING = "Draining"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    ROLLING_BACK = "RollingBack"
    STALLED = "Stalled"
    SUSPENDED = "Suspended"


class Truth(StrEnum):
    """A condition's value; Unknown is said, never guessed."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """A typed fact: one CamelCase reason, one human sentence."""

    type: str
    status: Truth
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class LastAction:
    """The latest effect on an instance and why; `at` in Unix seconds."""

    action: str
    cause: str
    at: float


@dataclass(frozen=True, slots=True)
class InstanceStatus:
    """One instance now. `tps` is decode tokens per second; `age_s` since its container started; None: not known.

    `warnings` are what rules have against it, `waived` the rules that it breaks and whose waivers count.
    """

    name: str
    state: State
    ready: bool
    port: int
    engine_id: str = ""
    spec_hash: str = ""
    revision: str = ""
    gpus: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    last_action: LastAction | None = None
    why: str = ""
    engine: str = ""
    model: str = ""
    compose: str = ""
    base_url: str = ""
    tps: float | None = None
    restarts: int = 0
    age_s: float | None = None
    metrics: EngineMetrics | None = None
    boot_seconds: float | None = None
    warnings: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    suspended_until: float | None = None
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class Status:
    """The whole rig after one pass; the only thing that metrics, API, page and CLI read."""

    rig: str
    at: Instant
    desired: str
    accepted: str
    converged: bool
    conditions: tuple[Condition, ...] = ()
    instances: tuple[InstanceStatus, ...] = ()
    cards: tuple[Card, ...] = ()
    plan: Plan = Plan()
    problems: tuple[Problem, ...] = ()
    mode: str = "auto"
    card_users: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Card UUID -> names of the instances that claim it."""
