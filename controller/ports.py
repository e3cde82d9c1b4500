"""The seams between the machine and the world: one Protocol each, implemented by an adapter and by a simulation.

Every call is bounded. A read returns a Reading or raises an EnvironmentFault; it never reports a failure as "nothing there".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from controller.model.document import Document
from controller.model.events import Command, Event, Reply
from controller.model.moment import Instant
from controller.model.observed import Container, HandSignal, Image, Listener, LogTail, Observed, Probe
from controller.model.payload import Payload
from controller.model.plan import CreateRequest, Plan, Step
from controller.model.problem import Problem
from controller.model.reading import Reading
from controller.model.resolved import GpuBinding, Resolved, Serving
from controller.model.rig import RigFacts
from controller.model.situation import Situation
from controller.model.snapshot import Snapshot
from controller.model.status import Status
from controller.model.track import Failure, Memory, Override, Restarts, Sighting


class Clock(Protocol):
    """Both clocks of the machine."""

    def now(self) -> Instant:
        """The present."""
        ...


class Source(Protocol):
    """Where the desired state comes from."""

    def read(self) -> Snapshot | tuple[Problem, ...]:
        """The present bytes, or why they cannot be had; never an empty snapshot in place of a failure."""
        ...


class Catalogue(Protocol):
    """Documents by kind and id, whole, from the first place of the search path that has them.

    Kinds: `composes`, `overlays`, `profiles/engines`, `profiles/hardware` and so on.
    """

    def find(self, kind: str, identifier: str) -> Document | tuple[Problem, ...] | None:
        """The document; why it cannot be read; or None when no place has it."""
        ...

    def ids(self, kind: str) -> tuple[str, ...]:
        """Every known id of a kind, sorted."""
        ...


class Secrets(Protocol):
    """Values that must not appear anywhere but in the container they are for."""

    def reveal(self, name: str) -> str:
        """The value; raises NotFound."""
        ...

    def digest(self, name: str) -> str | None:
        """A keyed digest of the value for the spec hash, or None when there is no such secret."""
        ...

    def key_id(self) -> str:
        """The fingerprint of the digest's key."""
        ...


class Containers(Protocol):
    """The containers of one engine. Raises the EnvironmentFault, NotFound or SpecFault that fits."""

    def list(self) -> tuple[Container, ...]:
        """Every container of the engine, ours in full, foreign ones in summary."""
        ...

    def create(self, request: CreateRequest, env: Mapping[str, str], argv: Sequence[str]) -> str:
        """Create without starting, with secrets already put into `env` and `argv`; the id."""
        ...

    def start(self, container: str) -> None:
        """Start; a container that runs already is fine."""
        ...

    def stop(self, container: str, term_s: float) -> None:
        """SIGTERM, after `term_s` seconds SIGKILL; a container that does not run is fine."""
        ...

    def remove(self, container: str) -> None:
        """Remove a container that does not run; one that is gone is fine, one that runs is a SpecFault."""
        ...

    def rename(self, container: str, name: str) -> None:
        """Give it this name."""
        ...

    def unpause(self, container: str) -> None:
        """Let a paused container run on; one that runs is fine."""
        ...

    def reset_policy(self, container: str) -> None:
        """Set the restart policy back to `no`."""
        ...

    def engine_id(self) -> str:
        """The engine's own id, which names the lock."""
        ...


class Images(Protocol):
    """Local images and the registry behind them."""

    def inspect(self, reference: str) -> Image | None:
        """The local image of this reference or id; None only when the engine says that it has none."""
        ...

    def pull(self, reference: str, progress: Callable[[str], None]) -> Image:
        """Fetch it, reporting progress in short sentences; raises PullFailed."""
        ...


class Payloads(Protocol):
    """The files of overlays, by the keys of their contents."""

    @property
    def folder(self) -> str:
        """Where they lie on the engine's host: a container mounts `<folder>/<key>/<path>`."""
        ...

    def has(self, key: str) -> Reading[bool]:
        """Whether the payload of a key is there, whole."""
        ...

    def put(self, payload: Payload) -> None:
        """Keep a payload whose bytes are at hand; one that is there stays as it is. Raises EnvironmentFault."""
        ...


class TextSearch(Protocol):
    """Looks into the files of running containers."""

    def find_text(self, container: str, text: str, files: Sequence[str]) -> Reading[bool]:
        """Whether one of the files, or of the files below a folder, holds the text.

        Unknown with its reason where the container cannot tell. Raises an EnvironmentFault or NotFound when it could not be
        asked.
        """
        ...


class ContainerLogs(Protocol):
    """What containers print."""

    def tail(self, container: str, lines: int) -> LogTail:
        """The last lines, stdout and stderr in order, control characters removed."""
        ...


class ContainerEvents(Protocol):
    """The engine's event stream: a reason to look, never a fact to act on by itself."""

    def follow(self, wake: Callable[[str], None], stopping: Callable[[], bool]) -> None:
        """Call `wake` for each event until `stopping` says so or the stream ends; then return or raise EngineUnreachable."""
        ...

    def hand_signal(self, container: str, since: float, until: float) -> HandSignal | None:
        """The last kill or stop of a container in a span of Unix time, as the engine still remembers it."""
        ...


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What an engine says about itself; texts are empty where it does not say, memory in bytes."""

    version: str
    api: str
    root_dir: str
    cgroup_version: str
    storage_driver: str
    runtimes: tuple[str, ...]
    ncpu: int
    memory: int


class EngineInfo(Protocol):
    """The engine itself, for people who look for what is wrong."""

    def info(self) -> EngineFacts:
        """Its versions and set-up; raises EngineUnreachable."""
        ...


class GpuProbe(Protocol):
    """The cards."""

    def read(self) -> RigFacts:
        """All cards now; what cannot be read is Unknown with its reason."""
        ...


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """One engine to ask. `api_key` never appears in a repr; seconds for the timeouts."""

    container: str
    serving: Serving
    timeout_s: float
    completion_timeout_s: float
    want_completion: bool
    api_key: str = field(default="", repr=False)


class EngineProbe(Protocol):
    """Asks an engine how it is."""

    def probe(self, target: ProbeTarget, now: Instant) -> Probe:
        """Health, the served name, on request one real completion, and the metrics; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class HostMemory:
    """RAM of the host and of /dev/shm, in bytes."""

    total: int
    available: int
    shm_total: int


class Host(Protocol):
    """The machine under the engine."""

    def listeners(self) -> Reading[tuple[Listener, ...]]:
        """TCP ports that something listens on."""
        ...

    def memory(self) -> Reading[HostMemory]:
        """RAM."""
        ...

    def disk_free(self, path: str) -> Reading[int]:
        """Bytes free on the file system of the nearest existing parent of `path`."""
        ...


@dataclass(frozen=True, slots=True)
class Finished:
    """One job that a worker ended: its lane, the key it was submitted with, its value or its error."""

    lane: str
    key: str
    value: object = None
    error: BaseException | None = None


class Workers(Protocol):
    """Lanes of work: within a lane one at a time, so that a stuck stop blocks only its own instance."""

    def submit(self, lane: str, key: str, job: Callable[[], object]) -> bool:
        """Run the job on its lane; False when the lane is busy (nothing is queued)."""
        ...

    def busy(self, lane: str) -> bool:
        """Whether a job of the lane has not been collected yet."""
        ...

    def collect(self) -> tuple[Finished, ...]:
        """What ended since the last call; this frees the lanes."""
        ...

    def close(self, timeout_s: float) -> bool:
        """Take no more work and wait for what runs; False when something was still running."""
        ...


class Wakeups(Protocol):
    """Reasons to look again, from any thread."""

    def wake(self, trigger: str) -> None:
        """Let the loop begin its next pass soon."""
        ...


class Commands(Protocol):
    """The loop's ear for people; called from the HTTP thread."""

    def submit(self, command: Command) -> Reply:
        """Hand the command to the loop and wait a bounded time for its answer."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action returned: a sentence for the journal, and the ids that it learnt."""

    message: str
    container: str = ""
    image_id: str = ""


class Records(Protocol):
    """What a store remembers, for whoever may only read."""

    def memory(self) -> Memory:
        """The planner's past, without the parts that live only in the process."""
        ...

    def servings(self) -> Mapping[tuple[str, str], Serving]:
        """All of them, by (instance, spec hash)."""
        ...

    def bindings(self) -> Mapping[str, GpuBinding]:
        """The kept cards by instance."""
        ...

    def accepted(self) -> Snapshot | None:
        """The revision in force, with its bytes."""
        ...

    def events(self, after: int, limit: int) -> tuple[Event, ...]:
        """Journal lines after a sequence number, oldest first; `after` -1 means the last `limit`."""
        ...

    def last_actions(self) -> Mapping[str, tuple[str, str, float]]:
        """Per instance the latest finished action, its cause and its Unix time."""
        ...

    def close(self) -> None:
        """Flush and close."""
        ...


class Store(Records, Protocol):
    """What must outlive the process. One thread writes; each method is one transaction on disk when it returns."""

    def begin(self, step: Step, now: Instant, pass_id: str) -> int:
        """Write the intent of an effect before it happens; its number."""
        ...

    def finish(self, intent: int, now: Instant, result: str, message: str) -> None:
        """Close an intent with `done`, `fault` or `unknown`."""
        ...

    def close_open_intents(self, now: Instant) -> int:
        """At start: whatever was under way is `unknown` now and will be observed; how many there were."""
        ...

    def record_failure(self, failure: Failure) -> None:
        """A boot that failed."""
        ...

    def clear_failures(self, instance: str) -> None:
        """A person wants it tried again: failures and restarts of the instance are forgotten."""
        ...

    def record_restart(self, instance: str, restarts: Restarts) -> None:
        """An engine died after it was ready."""
        ...

    def clear_restarts(self, instance: str) -> None:
        """It was ready long enough to count from zero."""
        ...

    def mark_ready(self, container: str, instance: str, spec_hash: str, at: float, boot_s: float) -> None:
        """First readiness of a container; `boot_s` from its start."""
        ...

    def record_sighting(self, sighting: Sighting) -> None:
        """Whether an overlay's sentinel is in a container."""
        ...

    def pin_image(self, instance: str, spec_hash: str, image_id: str) -> None:
        """The image id of a spec's first create."""
        ...

    def record_serving(self, instance: str, spec_hash: str, serving: Serving) -> None:
        """How to ask the containers of a spec."""
        ...

    def record_fields(self, instance: str, spec_hash: str, fields: Mapping[str, str]) -> None:
        """The values that a spec was made of, so that a later cause can name the one that changed."""
        ...

    def bind_gpus(self, instance: str, binding: GpuBinding) -> None:
        """Keep the cards of an instance."""
        ...

    def set_override(self, override: Override) -> None:
        """A person's stop or down."""
        ...

    def clear_override(self, instance: str) -> None:
        """A person's start, or its expiry."""
        ...

    def accept(self, snapshot: Snapshot, now: Instant) -> None:
        """This revision is in force from now on."""
        ...

    def append(self, event: Event) -> Event:
        """Add to the journal; the event with its sequence number."""
        ...

    def forget(self, instances: Iterable[str]) -> None:
        """Drop the records of instances that are pruned and no longer desired."""
        ...


class Recorder(Protocol):
    """Told of everything worth counting; implemented by the metrics."""

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:
        """One pass ended."""
        ...

    def acted(self, instance: str, action: str, result: str) -> None:
        """One action ended."""
        ...

    def event(self, event: Event) -> None:
        """One journal line was written."""
        ...

    def show(self, status: Status) -> None:
        """The rig as the last pass left it."""
        ...


class Resolver(Protocol):
    """Turns a snapshot into a resolved estate; the files' reading and the rules live behind it."""

    def resolve(
        self, snapshot: Snapshot, cards: RigFacts, bindings: Mapping[str, GpuBinding], now: float, *, held: bool = False
    ) -> Resolved | tuple[Problem, ...]:
        """The resolved estate with its warnings, or every problem at once; `now` in Unix seconds.

        A rule that a revision in force (`held`) breaks is a warning.
        """
        ...


class Reconcilers(Protocol):
    """The kinds of resources, as the loop sees them: the same three verbs for all."""

    def cards(self) -> RigFacts:
        """The cards now; they are read first because resolving needs them."""
        ...

    def observe(self, resolved: Resolved, memory: Memory, cards: RigFacts, now: Instant) -> Observed:
        """One snapshot, without probes (the loop adds the latest ones)."""
        ...

    def containers(self) -> Reading[tuple[Container, ...]]:
        """The engine's containers alone, for questions that come before any estate is in force."""
        ...

    def progress(self) -> Mapping[str, str]:
        """The latest sentence of each long action under way, by step target (an image reference)."""
        ...

    def plan(self, situation: Situation) -> Plan:
        """Pure: what is left to do."""
        ...

    def act(self, step: Step) -> Outcome:
        """The effect of one step; decides nothing; runs on a worker's lane."""
        ...
