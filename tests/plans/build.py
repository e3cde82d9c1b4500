"""Situations for plan tests, said in a line each: what is wanted, what is there, what is remembered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from controller.model.desired import Drain, RigBoot, Rollback, RunState
from controller.model.identity import Identity
from controller.model.moment import Instant
from controller.model.observed import (
    Completion,
    Container,
    ContainerState,
    EngineMetrics,
    HandSignal,
    Image,
    Listener,
    Observed,
    Probe,
    ServePhase,
)
from controller.model.plan import Plan
from controller.model.profile import DialectName
from controller.model.reading import Known, Reading, Unknown
from controller.model.resolved import (
    ContainerSpec,
    GpuBinding,
    LiveSettings,
    Origin,
    Resolved,
    ResolvedInstance,
    ResolvedRig,
    Serving,
)
from controller.model.rig import Card, RigFacts
from controller.model.situation import Situation
from controller.model.track import Memory, Track
from reconcilers.rig_plan import rig_plan

IMAGE = "steward-test/simulated:1"
CARDS = tuple(f"GPU-5157e3a0-0000-4000-8000-00000000000{n}" for n in range(4))
NOW = Instant(wall=1_800_000_000.0, mono=1000.0)


def wanted(
    name: str,
    spec: str = "a",
    *,
    port: int = 8010,
    gpus: tuple[int, ...] = (),
    live: LiveSettings | None = None,
    state: RunState = RunState.RUNNING,
    image: str = IMAGE,
    bound: bool = True,
    dialect: DialectName = DialectName.SIMULATED,
    fields: dict[str, str] | None = None,
) -> ResolvedInstance:
    """A desired instance whose spec hash is `spec` repeated."""
    uuids = tuple(CARDS[n] for n in gpus)
    return ResolvedInstance(
        name=name,
        compose="simulated/default",
        engine="simulated",
        model=None,
        dialect=dialect,
        cpu=not gpus,
        state=state,
        spec=ContainerSpec(image=image, argv=(), port=port, container_port=8000, gpus=uuids if bound else ()),
        serving=Serving(dialect, port, served_names=(name,)),
        live=live or LiveSettings(),
        gpus_text=str(list(gpus)),
        binding=GpuBinding(str(list(gpus)), uuids) if bound else None,
        spec_hash=spec * 64,
        spec_hash_plain=spec * 64,
        origins={key: Origin(value, None, "estate") for key, value in (fields or {}).items()},
    )


def there(
    name: str,
    spec: str = "a",
    state: ContainerState = ContainerState.RUNNING,
    *,
    generation: int = 1,
    port: int = 8010,
    gpus: tuple[int, ...] = (),
    rig: str = "rig",
    exit_code: int = 0,
    called: str | None = None,
    policy: str = "no",
) -> Container:
    """A container of ours; its id is its name padded."""
    identity = Identity(rig, name, spec * 64, generation, gpus=tuple(CARDS[n] for n in gpus))
    title = identity.container_name()
    ran = state is not ContainerState.CREATED
    running = state in (ContainerState.RUNNING, ContainerState.PAUSED)
    return Container(
        id=f"{title:_<64}",
        name=called or title,
        state=state,
        identity=identity,
        exit_code=exit_code,
        started_at=NOW.wall - 60 if ran else None,
        finished_at=None if running or not ran else NOW.wall - 5,
        host_ports=(port,) if running else (),
        restart_policy=policy,
    )


def foreign(name: str, port: int | None = None) -> Container:
    """Somebody else's running container."""
    return Container(f"{'f' + name:_<64}", name, ContainerState.RUNNING, host_ports=(port,) if port else ())


def probe(phase: ServePhase = ServePhase.SERVING, *, at: float = NOW.mono, running: float = 0, detail: str = "") -> Probe:
    """An answer of an engine."""
    metrics = Known(EngineMetrics(running=running, waiting=0.0))
    return Probe(Instant(NOW.wall, at), phase, detail, served=True, completion=Completion(True, ""), metrics=metrics)


@dataclass(slots=True)
class Scene:
    """What a plan is made from; `ready` names containers (by id) that are ready."""

    instances: tuple[ResolvedInstance, ...]
    containers: tuple[Container, ...] | Unknown = ()
    ready: tuple[Container, ...] = ()
    images: dict[str, Reading[Image | None]] = field(default_factory=lambda: {IMAGE: Known(Image("sha256:1"))})
    memory: Memory = field(default_factory=Memory)
    listeners: tuple[Listener, ...] = ()
    cards: RigFacts = field(default_factory=lambda: RigFacts(Known(tuple(Card(n, u, "RTX 3090") for n, u in enumerate(CARDS)))))
    probes: dict[str, Probe] = field(default_factory=dict)
    tracks: dict[str, Track] = field(default_factory=dict)
    rig: ResolvedRig = field(default_factory=lambda: ResolvedRig(boot=RigBoot(parallel=2), stagger=0.0))
    now: Instant = NOW
    hands: dict[str, HandSignal] = field(default_factory=dict)
    payloads: dict[str, Reading[bool]] = field(default_factory=dict)

    def situation(self) -> Situation:
        """The situation of this scene."""
        tracks = {c.id: Track(c.id, 900.0, 900.0, ready_at=950.0, serving=True, probe_at=999.0) for c in self.ready}
        containers = self.containers if isinstance(self.containers, Unknown) else Known(self.containers)
        observed = Observed(
            self.now, containers, self.images, self.cards, Known(self.listeners), self.probes, hand_signals=self.hands
        )
        observed = replace(observed, payloads=self.payloads)
        return Situation(Resolved(self.rig, self.instances, "rev1"), observed, self.now, {**tracks, **self.tracks}, self.memory)

    def plan(self) -> Plan:
        """The plan of this scene."""
        return rig_plan(self.situation())


KEEP_NONE = LiveSettings(rollback=Rollback(keep=0))
SHORT_DRAIN = LiveSettings(drain=Drain.model_validate({"idle_for": "1s", "limit": "10s", "term": "5s"}))

__all__ = ["CARDS", "IMAGE", "KEEP_NONE", "NOW", "SHORT_DRAIN", "Scene", "foreign", "probe", "replace", "there", "wanted"]
