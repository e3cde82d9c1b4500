"""The desired state with everything filled in: what each container would be, down to its last flag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from controller.model.desired import (
    Boot,
    Drain,
    Gates,
    Health,
    Mode,
    Paths,
    Restart,
    RigBoot,
    Rollback,
    RunState,
    Suspension,
    Waiver,
)
from controller.model.fields import SecretRef
from controller.model.identity import Identity
from controller.model.payload import OverlayUse, PayloadNeed
from controller.model.problem import Place, Problem
from controller.model.profile import DialectName
from controller.model.verdict import Verdict

LIVE_PREFIXES: Final = ("health.", "drain.", "boot.", "restart.", "rollback.", "gates.")
LIVE_FIELDS: Final = frozenset(
    {
        "depends_on", "suspend", "waive", "share", "state", "compose", "engine", "dialect", "model", "weights", "drafter",
        "workload", "gpus.reason", "spec_hash",
    }
)  # fmt: skip
"""Keys that never restart an engine, as `explain` names them; the names that stand for other values are among them."""

Secretive: TypeAlias = str | SecretRef
"""Text that may stand for a secret; the value is put in only when the container is created."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A bind mount. `${STEWARD_ENGINE_CACHE}` in `source` stays unexpanded until create: its folder is per image."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Ulimit:
    """A resource limit of the container's processes."""

    name: str
    soft: int
    hard: int


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """All that reaches create. `gpus` are UUIDs in order; memory in bytes; `port` is public, `container_port` inside."""

    image: str
    argv: tuple[Secretive, ...]
    port: int
    container_port: int
    bind: str = "127.0.0.1"
    entrypoint: tuple[str, ...] | None = None
    env: tuple[tuple[str, Secretive], ...] = ()
    mounts: tuple[Mount, ...] = ()
    gpus: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    shm_bytes: int | None = None
    ipc: str | None = None
    user: str | None = None
    ulimits: tuple[Ulimit, ...] = ()
    cap_add: tuple[str, ...] = ()
    cap_drop: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    tmpfs: tuple[str, ...] = ()
    working_dir: str | None = None
    extra_hosts: tuple[str, ...] = ()
    security_opt: tuple[str, ...] = ()
    read_only: bool = False
    mem_limit_bytes: int | None = None
    cpus: float | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """How a generic tenant says that it is ready: `http` with a path, `tcp`, or `none`; engines use their dialect."""

    kind: str = "dialect"
    path: str = ""


@dataclass(frozen=True, slots=True)
class Serving:
    """What a probe needs to know about one spec; kept with the spec hash, so that an old container can still be asked."""

    dialect: DialectName
    port: int
    bind: str = "127.0.0.1"
    served_names: tuple[str, ...] = ()
    readiness: Readiness = Readiness()
    api_key: SecretRef | None = None


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """What may change under a running engine."""

    boot: Boot = Boot()
    health: Health = Health()
    drain: Drain = Drain()
    restart: Restart = Restart()
    rollback: Rollback = Rollback()
    gates: Gates = Gates()
    depends_on: tuple[str, ...] = ()
    share: bool = False
    suspend: Suspension | None = None
    waive: tuple[Waiver, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """One resolved value, as text, and the file and line that it came from (None: a built-in default)."""

    value: str
    place: Place | None
    source: str
    """`estate`, `defaults`, `compose`, `profile`, `overlay`, `rig` or `default`."""


@dataclass(frozen=True, slots=True)
class GpuBinding:
    """Which cards an instance's `gpus` text was bound to; kept while the text stays the same."""

    text: str
    uuids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResolvedInstance:
    """One wanted engine, complete. `binding` None means that its cards could not be read and are not known from before."""

    name: str
    compose: str
    engine: str
    model: str | None
    dialect: DialectName
    cpu: bool
    state: RunState
    spec: ContainerSpec
    serving: Serving
    live: LiveSettings
    gpus_text: str
    binding: GpuBinding | None
    spec_hash: str
    spec_hash_plain: str
    secret_key: str = ""
    """Fingerprint of the key that the secrets' digests in the hash were made with; empty without secrets."""
    parameters: Mapping[str, object] = field(default_factory=dict, hash=False)
    origins: Mapping[str, Origin] = field(default_factory=dict, hash=False)
    exclusive: bool = True
    vram_claim_bytes: int | None = None
    place: Place | None = None
    memory_claims: Mapping[str, int] = field(default_factory=dict, compare=False, hash=False)
    """Bytes that it asks of each of its cards (by UUID) when it starts, where that is known before."""
    verdicts: tuple[Verdict, ...] = field(default=(), compare=False, hash=False)
    """What each rule says of it, in the rules' order."""
    unpullable: str = field(default="", compare=False, hash=False)
    """Why its image cannot be pulled, where the catalogue knows that; empty otherwise."""
    overlays: tuple[OverlayUse, ...] = field(default=(), hash=False)
    """What is put on it, in that order."""
    payloads: tuple[PayloadNeed, ...] = field(default=(), hash=False)
    """The files that have to be there before its container is made; none on a simulated rig."""

    @property
    def bound(self) -> bool:
        """Whether the cards are known, which create and start need."""
        return self.binding is not None

    def is_spec_of(self, identity: Identity) -> bool:
        """Whether a container's labels say that it is this spec.

        Where the secrets' key has changed since, digests cannot be compared: then the hash without secrets decides.
        """
        if identity.spec_hash == self.spec_hash:
            return True
        rekeyed = bool(identity.secret_key) and identity.secret_key != self.secret_key
        return rekeyed and identity.spec_hash_plain == self.spec_hash_plain

    def spec_fields(self) -> dict[str, str]:
        """The resolved values that reach create, as text, by the name that `explain` prints; secrets by name only."""
        return {
            key: origin.value
            for key, origin in sorted(self.origins.items())
            if key not in LIVE_FIELDS and not key.startswith(LIVE_PREFIXES)
        }


@dataclass(frozen=True, slots=True)
class ResolvedRig:
    """The rig block with its defaults; `stagger` in seconds."""

    name: str = "rig"
    mode: Mode = Mode.AUTO
    boot: RigBoot = RigBoot()
    stagger: float = 15.0
    formerly: tuple[str, ...] = ()
    paths: Paths = Paths()
    power_limit_w: Mapping[str, int] = field(default_factory=dict, hash=False)
    drain: Drain = Drain()
    """How an instance that left the estate is emptied: the estate's defaults."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The whole estate, resolved. `revision` is the digest of the documents read (12 hex digits), or commit and digest.

    `holds_until` (Unix seconds) is when the next waiver ends and the rules have to be asked again; None: never.
    """

    rig: ResolvedRig
    instances: tuple[ResolvedInstance, ...]
    revision: str = ""
    allow_prune: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    holds_until: float | None = None

    def get(self, name: str) -> ResolvedInstance | None:
        """The instance of that name."""
        return next((instance for instance in self.instances if instance.name == name), None)
