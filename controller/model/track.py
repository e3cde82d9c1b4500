"""What Steward remembers: per container while it runs (Track), and per instance for ever (Memory, kept in the store)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.model.moment import Instant
from controller.model.resolved import Serving


class FaultClass(StrEnum):
    """Who is to blame, which decides whether trying again makes sense."""

    DETERMINISTIC = "deterministic"
    TRANSIENT = "transient"
    ENVIRONMENT = "environment"
    RUNTIME = "runtime"


@dataclass(frozen=True, slots=True)
class Track:
    """One running container as followed over passes; all times are monotonic seconds of this process.

    `progress_mark` changes with every sign of life of a boot; `ready_at` is when readiness and the first completion held;
    `misses` counts failed probes in a row since then; `idle_since` is when a drain first saw no request.
    """

    container: str
    began: float
    progress_at: float
    instance: str = ""
    progress_mark: str = ""
    ready_at: float | None = None
    serving: bool = False
    misses: int = 0
    probe_at: float = 0.0
    drain_began: float | None = None
    idle_since: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A boot that failed: the spec is not tried again until its hash changes or a person says so."""

    instance: str
    spec_hash: str
    container: str
    reason: str
    message: str
    fault: FaultClass = FaultClass.DETERMINISTIC
    at: float = 0.0
    log: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restarts:
    """Engines that died after they were ready: how many in a row, and when (Unix seconds) the next start is due."""

    spec_hash: str
    count: int
    exited_at: float
    next_at: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Override:
    """A person's `stop` or `down`: until (Unix seconds; None: until `start`), by whom, why."""

    instance: str
    verb: str
    until: float | None
    reason: str
    who: str
    at: float


@dataclass(frozen=True, slots=True)
class Backoff:
    """A step that met an environment fault: not tried before `until` (monotonic seconds)."""

    until: float
    attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """What came of the look for an overlay's sentinel in a container; `found` None: the container cannot tell, `detail` why."""

    container: str
    instance: str
    overlay: str
    sentinel: str
    found: bool | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What the planner may know of the past. Failures are keyed by (instance, spec hash), the rest as named."""

    failures: Mapping[tuple[str, str], Failure] = field(default_factory=dict)
    restarts: Mapping[str, Restarts] = field(default_factory=dict)
    overrides: Mapping[str, Override] = field(default_factory=dict)
    generations: Mapping[str, int] = field(default_factory=dict)
    open_creates: Mapping[tuple[str, str], int] = field(default_factory=dict)
    image_pins: Mapping[tuple[str, str], str] = field(default_factory=dict)
    ready_marks: Mapping[str, float] = field(default_factory=dict)
    """Container id -> Unix time of its first readiness."""
    off_since: Mapping[str, float] = field(default_factory=dict)
    """Container id -> monotonic time since when it was seen stopped, paused or renamed."""
    backoffs: Mapping[str, Backoff] = field(default_factory=dict)
    """Step id -> its backoff."""
    servings: Mapping[tuple[str, str], Serving] = field(default_factory=dict)
    """How to ask the containers of a spec, by (instance, spec hash)."""
    fields: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    """The values that a spec was made of, by (instance, spec hash), so that a cause can name the one that changed."""
    stops: frozenset[str] = frozenset()
    """Ids of the containers that Steward stopped on purpose and has not started again."""
    sightings: Mapping[tuple[str, str], Sighting] = field(default_factory=dict)
    """By (container id, overlay)."""
    last_start: float | None = None
    """Monotonic time of the last start, for the stagger between boots."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the fold of one observation concluded about a container, for the loop to record."""

    kind: str
    """`ready`, `boot-failed` or `exited`."""
    instance: str
    container: str
    spec_hash: str
    at: Instant
    failure: Failure | None = None
    restarts: Restarts | None = None
    detail: str = ""
