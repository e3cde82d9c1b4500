"""The estate file as its author writes it (schema version 1)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt

from controller.model.fields import (
    AsTuple,
    Document,
    Duration,
    InstanceName,
    Names,
    Port,
    RigName,
    SecretRef,
    Texts,
    Timestamp,
)

SCHEMA_VERSION = 1


class Mode(StrEnum):
    """`auto` acts; `observe` plans and reports only; `approve` waits for a person (rollout issue)."""

    AUTO = "auto"
    OBSERVE = "observe"
    APPROVE = "approve"


class RunState(StrEnum):
    """Whether the instance should run; a stopped one keeps its place in the file and frees its cards."""

    RUNNING = "running"
    STOPPED = "stopped"


def _enum(kind: type[StrEnum]) -> BeforeValidator:
    def convert(value: Any) -> Any:
        return kind(value) if isinstance(value, str) and value in list(kind) else value

    return BeforeValidator(convert)


class Boot(Document):
    """Limits of a boot, in seconds: `stall` without progress, `cap` in all, `download_cap` for fetching weights."""

    stall: Duration = 300.0
    cap: Duration = 2700.0
    download_cap: Duration = 21600.0


class Health(Document):
    """How a serving engine is watched; durations in seconds, `misses` and `canary_failures` in a row."""

    interval: Duration = 5.0
    timeout: Duration = 10.0
    misses: Annotated[int, Field(ge=1, le=100)] = 3
    hung_after: Duration = 120.0
    canary_interval: Duration = 120.0
    canary_timeout: Duration = 20.0
    canary_failures: Annotated[int, Field(ge=1, le=100)] = 3
    min_healthy: Duration = 30.0
    bake: Duration = 600.0


class Drain(Document):
    """How a running engine is emptied: idle for `idle_for`, at most `limit`; `term` from SIGTERM to SIGKILL; seconds."""

    idle_for: Duration = 3.0
    limit: Duration = 120.0
    term: Duration = 30.0
    vram_release: Duration = 60.0


class Restart(Document):
    """Budget for engines that die: `max` restarts in `window` seconds, `backoff` doubling up to `backoff_cap`."""

    max: Annotated[int, Field(ge=0, le=1000)] = 3
    window: Duration = 1800.0
    backoff: Duration = 10.0
    backoff_cap: Duration = 900.0


class Rollback(Document):
    """Whether and how often a failed spec is replaced by the last-good one; `keep` stopped containers stay for it."""

    enabled: bool = True
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    keep: Annotated[int, Field(ge=0, le=10)] = 1


class Gates(Document):
    """Limits that a new spec must hold in its bake; null disables one and then `reason` is required."""

    vram_growth_mib: Annotated[float, Field(ge=0)] | None = 200
    tps_min_ratio: Annotated[float, Field(ge=0, le=1)] | None = 0.7
    silent_empty_max_ratio: Annotated[float, Field(ge=0, le=1)] | None = 0.05
    reason: str | None = None


class GpuCount(Document):
    """`gpus: {count: 2}`: Steward picks the cards once and keeps them."""

    count: Annotated[int, Field(ge=1, le=16)]
    nvlink: Literal["prefer", "require"] | None = None
    same: bool = False


GpuUuid = Annotated[str, Field(pattern=r"^GPU-[0-9a-fA-F-]{4,36}$", description="a card's UUID (GPU-...)")]
GpuIndex = Annotated[int, Field(ge=0, le=63, strict=True, description="a card's index from 0 to 63")]
GpuList = Annotated[tuple[GpuIndex | GpuUuid, ...], AsTuple]
Scalar = StrictInt | StrictFloat | StrictBool | str


class Waiver(Document):
    """A solver rule that this instance may break, why, and until when."""

    rule: str
    reason: Annotated[str, Field(min_length=1)]
    until: Timestamp


class Suspension(Document):
    """Observe and report this instance, do not act on it."""

    reason: Annotated[str, Field(min_length=1)]
    until: Timestamp


class Entry(Document):
    """One wanted engine."""

    name: InstanceName
    compose: str = Field(min_length=1)
    gpus: GpuList | GpuCount
    port: Port
    bind: str | None = None
    networks: Texts = ()
    state: Annotated[RunState, _enum(RunState)] = RunState.RUNNING
    image: str | None = None
    served_names: Texts = ()
    waive: Annotated[tuple[Waiver, ...], AsTuple] = ()
    set: dict[str, Any] = Field(default_factory=dict)
    env: dict[str, Scalar | SecretRef | None] = Field(default_factory=dict)
    overlays: Texts = ()
    depends_on: Names = ()
    share: bool = False
    suspend: Suspension | None = None
    boot: Boot | None = None
    health: Health | None = None
    drain: Drain | None = None
    restart: Restart | None = None
    rollback: Rollback | None = None
    gates: Gates | None = None
    created: Any = None
    updated: Any = None


class RigBoot(Document):
    """How many engines boot at once, and how long after another one the next may begin (seconds; None: by rig kind)."""

    parallel: Annotated[int, Field(ge=1, le=4)] = 2
    stagger: Duration | None = None


class Paths(Document):
    """Host paths; whether they exist is a live check, never a validation error."""

    models: str = "/srv/models"
    hf_cache: str = "/srv/hf"
    engine_cache: str = "/srv/engine-cache"


class Rig(Document):
    """The `rig` block: what holds for the whole machine."""

    name: RigName = "rig"
    mode: Annotated[Mode, _enum(Mode)] = Mode.AUTO
    boot: RigBoot = RigBoot()
    formerly: Annotated[tuple[RigName, ...], AsTuple] = ()
    paths: Paths = Paths()
    power_limit_w: dict[str, Annotated[int, Field(ge=1, le=2000)]] = Field(default_factory=dict)
    hardware_id: Any = None
    gpu_count: Any = None
    nvlink_active: Any = None


class Defaults(Document):
    """Values for every entry that does not set them itself."""

    boot: Boot = Boot()
    health: Health = Health()
    drain: Drain = Drain()
    restart: Restart = Restart()
    rollback: Rollback = Rollback()
    gates: Gates = Gates()
    bind: str = "127.0.0.1"


class EstateFile(Document):
    """One file of the estate folder; `estate` missing in all of them is an error that the reader reports."""

    schema_version: Literal[1] = 1
    rig: Rig | None = None
    allow_prune: Names = ()
    defaults: Defaults | None = None
    estate: Annotated[tuple[Entry, ...], AsTuple] | None = None
