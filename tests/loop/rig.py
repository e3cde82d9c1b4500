"""A whole controller on an engine in memory and a clock that the test moves: the loop's own code, nothing patched."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from controller.app.files import FileResolver
from controller.loop.commands import CommandQueue
from controller.loop.desire import Desire
from controller.loop.execute import Executor
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
from controller.model.snapshot import Snapshot, SourceFile, snapshot_of
from controller.model.status import InstanceStatus, Status
from controller.settings import Bounds, Settings
from controller.simulation.memory_engine import MemoryEngine
from controller.simulation.memory_hand import MemoryHand
from controller.simulation.memory_probe import MemoryProbe
from controller.simulation.memory_world import MemoryClock, MemoryGpus, MemoryHost, MemoryWorkers, memory_cards
from controller.store.sqlite import SqliteStore
from reconcilers.rig import RigReconcilers, World

IMAGE = "steward-test/simulated:1"
SETTINGS = Settings(Path("desired"), Path("state"), Path("lock"))


@dataclass(slots=True)
class TextSource:
    """The estate as a text that a test edits; `problems` makes it unreadable."""

    text: str
    problems: tuple[Problem, ...] = ()

    def read(self) -> Snapshot | tuple[Problem, ...]:
        """The present text."""
        return self.problems or snapshot_of([SourceFile("estate/estate.yml", "desired/estate.yml", self.text.encode())])


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
        self.engine: MemoryEngine = world.engine if world else MemoryEngine(self.clock)
        self.host: MemoryHost = world.host if world else MemoryHost(self.engine)
        self.gpus: MemoryGpus = world.gpus if world else MemoryGpus(self.engine, memory_cards(cards))
        self.hand = MemoryHand(self.engine)
        self.source = TextSource(text)
        self.store = store or SqliteStore(":memory:", Bounds())
        self.recorder = Counting()
        self.last: Pass | None = None
        if world is None:
            self.engine.add_image(IMAGE)
        self._triggers = frozenset({"start"})
        self.loop = self._loop()

    def world(self) -> World:
        """The ports of this world."""
        engine = self.engine
        return World(engine, engine, engine, engine, self.gpus, self.host, NoSecrets())

    def _loop(self) -> Loop:
        bounds, workers, secrets = Bounds(), MemoryWorkers(), NoSecrets()
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
            speaker=Speaker(self.store, self.recorder),
            commands=CommandQueue(WakeupQueue(), bounds.command_queue, 1.0),
            bounds=bounds,
        )

    def step(self, *triggers: str) -> Status:
        """One pass."""
        done = self.loop.step(self._triggers | frozenset(triggers))
        self._triggers = frozenset({"worker"} if done.acted else ())
        self.last = done
        return done.status

    def run(self, seconds: float, *triggers: str) -> Status:
        """Passes until this much time has passed, each when the one before asked for it."""
        ends = self.clock.mono + seconds
        status = self.step(*triggers)
        while self.clock.mono < ends:
            assert self.last is not None
            at = min(ends, max(self.clock.mono + 0.05, self.last.next_at))
            self.clock.advance((0.05 if self._triggers else at - self.clock.mono) or 0.05)
            status = self.step()
        return status

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

    def instance(self, name: str) -> InstanceStatus:
        """How an instance stands after the last pass."""
        assert self.last is not None
        return next(i for i in self.last.status.instances if i.name == name)

    def kinds(self, instance: str = "") -> list[str]:
        """The kinds of the journal lines, of one instance or all."""
        return [event.kind for event in self.recorder.events if not instance or event.instance == instance]


def estate(*entries: str, rig: str = "{boot: {stagger: 0s}}", more: str = "") -> str:
    """An estate of entries in flow style, such as `name: a, port: 8010`; each is a simulated engine without cards."""
    lines = [f"  - {{compose: simulated/default, {entry}}}" for entry in entries]
    body = "estate:\n" + "\n".join(lines) if entries else "estate: []"
    return f"rig: {rig}\n{more}\n{body}\n"


def entry(name: str, port: int, *, gpus: str = "[]", more: str = "") -> str:
    """One entry for `estate`."""
    return f"name: {name}, port: {port}, gpus: {gpus}{', ' + more if more else ''}"
