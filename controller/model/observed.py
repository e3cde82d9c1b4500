"""What one snapshot saw, with its time. Everything that can fail to be read is a Reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.model.identity import Identity
from controller.model.moment import Instant
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import RigFacts


class ContainerState(StrEnum):
    """Docker's own container states."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    RESTARTING = "restarting"
    REMOVING = "removing"
    EXITED = "exited"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Container:
    """One container. Times are Unix seconds or None; `identity` None means foreign; `pid` 0 when not running."""

    id: str
    name: str
    state: ContainerState
    image_id: str = ""
    identity: Identity | None = None
    exit_code: int = 0
    oom_killed: bool = False
    error: str = ""
    pid: int = 0
    created_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    restart_policy: str = "no"
    host_ports: tuple[int, ...] = ()
    ids_complete: bool = True
    """False for a foreign container, of which only the summary was read."""

    @property
    def running(self) -> bool:
        """Whether it holds its port and cards now (a paused one does)."""
        return self.state in (ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING)

    @property
    def short_id(self) -> str:
        """The 12 digits that Docker prints."""
        return self.id[:12]


@dataclass(frozen=True, slots=True)
class Image:
    """A local image. `argv` forms are what the image would run by itself; `digests` are its repository digests."""

    id: str
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    size_bytes: int = 0
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


class ServePhase(StrEnum):
    """What an HTTP probe met; refused, 503 and 200 are three different states of an engine."""

    REFUSED = "refused"
    LOADING = "loading"
    SERVING = "serving"
    FAILING = "failing"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """An engine's own figures under Steward's names; None where this engine or version does not export one.

    Tokens, steps and drafts are counters since the engine's start; `kv_usage` is 0 to 1; `generation_seconds` is the time
    spent decoding where the engine counts it.
    """

    generation_tokens: float | None = None
    prompt_tokens: float | None = None
    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None
    steps: float | None = None
    generation_seconds: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    process_start: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """The outcome of one real completion: it is fine only when tokens came back and the request finished."""

    ok: bool
    detail: str
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Probe:
    """The last answer of one container's engine. `served` and `completion` are None when they were not asked for."""

    at: Instant
    phase: ServePhase
    detail: str = ""
    served: bool | None = None
    completion: Completion | None = None
    metrics: Reading[EngineMetrics] = Unknown("not scraped")
    decode_tps: float | None = None


@dataclass(frozen=True, slots=True)
class LogTail:
    """The last lines of a container's log and how much it had written when they were read."""

    lines: tuple[str, ...]
    mark: str
    """Changes whenever the log grew: a digest of the tail with its last timestamp."""


@dataclass(frozen=True, slots=True)
class LogExcerpt:
    """The last lines of one container's log, with the container that they are of."""

    container: str
    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listener:
    """A TCP port of the host that something listens on; `pid` None where the kernel does not tell."""

    address: str
    port: int
    pid: int | None = None
    process: str = ""


@dataclass(frozen=True, slots=True)
class HandSignal:
    """Evidence from the engine's event log that somebody stopped or killed a container, with its Unix time."""

    container: str
    action: str
    at: float


@dataclass(frozen=True, slots=True)
class Observed:
    """One snapshot of the rig. `containers` holds ours and foreign ones; `images` is keyed by reference."""

    at: Instant
    containers: Reading[tuple[Container, ...]]
    images: Mapping[str, Reading[Image | None]] = field(default_factory=dict)
    cards: RigFacts = RigFacts(Unknown("not read"))
    listeners: Reading[tuple[Listener, ...]] = Known(())
    probes: Mapping[str, Probe] = field(default_factory=dict)
    logs: Mapping[str, LogTail] = field(default_factory=dict)
    hand_signals: Mapping[str, HandSignal] = field(default_factory=dict)
    payloads: Mapping[str, Reading[bool]] = field(default_factory=dict)
    """Whether the files of overlays that a container needs are there, by the payload's key."""

    def ours(self, rig: str) -> tuple[Container, ...]:
        """Our containers of this rig; empty when the list is Unknown, so ask `containers` first."""
        if isinstance(self.containers, Unknown):
            return ()
        return tuple(c for c in self.containers.value if c.identity is not None and c.identity.rig == rig)
