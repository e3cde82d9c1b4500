"""A whole controller on an engine in memory and a clock that the test moves: the loop's own code, nothing patched."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from controller.app.files import FileResolver
from controller.errors import EngineUnreachable
from controller.loop.commands import CommandQueue
from controller.loop.desire import Desire
from controller.loop.execute import Executor
from controller.loop.inspecting import Inspector
from controller.loop.probing import Prober
from controller.loop.recall import Recall
from controller.loop.say import Speaker
from controller.loop.step import Loop, Pass
from controller.loop.verbs import carry_out
from controller.loop.wakeups import WakeupQueue
from controller.model.events import Command, Event, Reply, Verb
from controller.model.moment import Instant
from controller.model.observed import Container
from controller.model.problem import Problem
from controller.model.reading import Known
from controller.model.rig import RigFacts
from controller.model.snapshot import Snapshot, SourceFile, snapshot_of
from controller.model.status import InstanceStatus, Status
from controller.settings import Bounds, Settings
from controller.simulation.cards import SimulatedGpus
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.script import Script
from controller.simulation.hand import SimulatedHand
from controller.simulation.memory_probe import MemoryProbe
from controller.simulation.memory_world import MemoryClock, MemoryHost, MemoryWorkers, memory_cards
from controller.simulation.overlays import SimulatedPayloads, SimulatedTexts
from controller.simulation.scripted import ScriptedProcesses
from controller.store.sqlite import SqliteStore
from reconcilers.rig import RigReconcilers, World

IMAGE = "steward-test/simulated:1"
GATHER_S = Bounds().gather
LOADS_5_S = Script(load_s=5.0, load_phase="503")
SETTINGS = Settings(Path("desired"), Path("state"), Path("lock"))


@dataclass(slots=True)
class TextSource:
    """The estate as a text that a test edits, with documents of its repository; `problems` makes it unreadable."""

    text: str
    problems: tuple[Problem, ...] = ()
    documents: dict[str, str] = field(default_factory=dict)

    def read(self) -> Snapshot | tuple[Problem, ...]:
        """The present text."""
        texts = {"estate/estate.yml": self.text, **self.documents}
        files = [SourceFile(key, key.replace("estate/", "desired/"), text.encode()) for key, text in texts.items()]
        return self.problems or snapshot_of(files)


class NoSecrets:
    """A rig without secrets."""

    def reveal(self, name: str) -> str:
        """There is none."""
        raise AssertionError(f"nobody should ask for {name}")

    def digest(self, name: str) -> str | None:
        """There is none."""
        return None

    def key_id(self) -> str:
        """The key's fingerprint."""
        return "0" * 8


@dataclass(slots=True)
class Counting:
    """A recorder that keeps what it is told."""

    events: list[Event] = field(default_factory=list)
    actions: list[tuple[str, str, str]] = field(default_factory=list)

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:
        """Not kept."""

    def acted(self, instance: str, action: str, result: str) -> None:
        """One action ended."""
        self.actions.append((instance, action, result))

    def event(self, event: Event) -> None:
        """One journal line."""
        self.events.append(event)

    def show(self, status: Status) -> None:
        """Not kept."""


class MemoryRig:
    """One rig; `run` lets time pass."""

    def __init__(self, text: str, *, cards: int = 4, store: SqliteStore | None = None, world: MemoryRig | None = None) -> None:
        """A controller over a fresh world, or over the world of an earlier controller."""
        self.clock: MemoryClock = world.clock if world else MemoryClock()
        self.processes: ScriptedProcesses = world.processes if world else ScriptedProcesses(self.clock)
        self.engine: SimulatedEngine = world.engine if world else SimulatedEngine(self.clock, self.processes)
        self.host: MemoryHost = world.host if world else MemoryHost(self.engine)
        self.gpus: SimulatedGpus = world.gpus if world else self._cards(cards)
        self.payloads: SimulatedPayloads = world.payloads if world else SimulatedPayloads()
        self.texts: SimulatedTexts = world.texts if world else SimulatedTexts()
        self.hand = SimulatedHand(self.engine)
        self.source = TextSource(text)
        self.store = store or SqliteStore(":memory:", Bounds())
        self.recorder = Counting()
        self.last: Pass | None = None
        self.steps = 0
        self.always: Callable[[MemoryRig], None] = world.always if world else _nothing_to_check
        """What has to hold after every pass; it raises where it does not."""
        if world is None:
            self.engine.add_image(IMAGE)
            self.engine.default = LOADS_5_S
        self.workers = MemoryWorkers(self.clock)
        self._started = False
        self.loop = self._loop()

    def _cards(self, count: int) -> SimulatedGpus:
        return SimulatedGpus(RigFacts(Known(memory_cards(count))), self.engine.cells, self.clock)

    def world(self) -> World:
        """The ports of this world."""
        engine = self.engine
        return World(engine, engine, engine, engine, self.gpus, self.host, NoSecrets(), self.payloads, self.texts)

    def _loop(self) -> Loop:
        bounds, workers, secrets = Bounds(), self.workers, NoSecrets()
        reconcilers = RigReconcilers(self.world(), bounds)
        desire = Desire(self.source, FileResolver(SETTINGS, secrets), self.store)
        desire.load()
        self.store.close_open_intents(self.clock.now())
        return Loop(
            clock=self.clock,
            store=self.store,
            workers=workers,
            reconcilers=reconcilers,
            desire=desire,
            recall=Recall(self.store, bounds),
            executor=Executor(self.store, workers, reconcilers),
            prober=Prober(MemoryProbe(self.engine), workers, secrets, self.clock, bounds),
            inspector=Inspector(self.texts, workers, bounds),
            speaker=Speaker(self.store, self.recorder),
            commands=CommandQueue(WakeupQueue(), bounds.command_queue, 1.0),
            bounds=bounds,
        )

    def step(self, *triggers: str) -> Status:
        """One pass, for these triggers and what the engine's event stream tells."""
        told: set[str] = set(triggers) if self._started else {"start", *triggers}
        with contextlib.suppress(EngineUnreachable):
            self.engine.follow(lambda _text: told.add("event"), lambda: False)
        self._started = True
        self.steps += 1
        self.last = self.loop.step(frozenset(told))
        self.always(self)
        return self.last.status

    def run(self, seconds: float, *triggers: str) -> Status:
        """Passes until this much time has passed, each when there is a reason for it."""
        ends = self.clock.mono + seconds
        status = self.step(*triggers)
        while self.clock.mono < ends:
            self.clock.advance(self._next_moment(ends) - self.clock.mono)
            status = self.step()
        return status

    def _next_moment(self, ends: float) -> float:
        """When the loop has its next reason to look: what it asked for, a job or a container that ends, an event.

        Reasons at almost the same time are taken together, as the loop around the passes does.
        """
        assert self.last is not None
        moments = [ends, self.last.next_at, self.workers.next_at(), self.processes.next_end()]
        at = self.clock.mono if self.engine.has_news() else min(moment for moment in moments if moment is not None)
        return max(at, self.clock.mono + GATHER_S)

    def edit(self, text: str) -> None:
        """Save another estate."""
        self.source.text = text

    def tell(self, verb: Verb, *names: str, **more: object) -> Reply:
        """A person's verb."""
        return carry_out(Command(verb, names, who="tester", **more), self.loop, self.clock.now())  # type: ignore[arg-type]

    def reborn(self, *, keep_store: bool = True) -> MemoryRig:
        """The controller is killed and another one starts over the same world."""
        return MemoryRig(self.source.text, store=self.store if keep_store else None, world=self)

    def seen(self) -> list[Container]:
        """Every container as it really is, whatever the engine answers."""
        self.engine.cells.settle()
        return [cell.seen for cell in self.engine.cells.by_id.values()]

    def containers(self, instance: str) -> list[Container]:
        """The instance's containers, oldest first."""
        mine = [c for c in self.seen() if c.identity and c.identity.instance == instance]
        return sorted(mine, key=lambda c: c.identity.generation if c.identity else 0)

    def running(self, instance: str) -> list[Container]:
        """Those that run."""
        return [container for container in self.containers(instance) if container.running]

    def happened(self, action: str) -> int:
        """How often the engine did this to a container, in Docker's words."""
        return sum(event.action == action for event in self.engine.cells.events)

    def instance(self, name: str) -> InstanceStatus:
        """How an instance stands after the last pass."""
        assert self.last is not None
        return next(i for i in self.last.status.instances if i.name == name)

    def kinds(self, instance: str = "") -> list[str]:
        """The kinds of the journal lines, of one instance or all."""
        return [event.kind for event in self.recorder.events if not instance or event.instance == instance]


def _nothing_to_check(rig: MemoryRig) -> None:
    """A rig of which nothing more is asked."""


def estate(*entries: str, rig: str = "{boot: {stagger: 0s}}", more: str = "") -> str:
    """An estate of entries in flow style, such as `name: a, port: 8010`; each is a simulated engine without cards."""
    lines = [f"  - {{compose: simulated/default, {entry}}}" for entry in entries]
    body = "estate:\n" + "\n".join(lines) if entries else "estate: []"
    return f"rig: {rig}\n{more}\n{body}\n"


def entry(name: str, port: int, *, gpus: str = "[]", more: str = "") -> str:
    """One entry for `estate`."""
    return f"name: {name}, port: {port}, gpus: {gpus}{', ' + more if more else ''}"
