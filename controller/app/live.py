"""The controller: the one writer of a rig, with its loop, its ears and its pages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller.adapters.thread_workers import ThreadWorkers
from controller.app.claims import Claims
from controller.app.files import FileResolver, source_of
from controller.app.logs import LogBook
from controller.app.rig_name import rig_name_of
from controller.app.world import Parts, parts_of, state_folder
from controller.errors import EngineUnreachable
from controller.loop.commands import CommandQueue
from controller.loop.desire import Desire
from controller.loop.execute import Executor
from controller.loop.follower import EventFollower
from controller.loop.inspecting import Inspector
from controller.loop.probing import Prober
from controller.loop.recall import Recall
from controller.loop.run import Runner
from controller.loop.say import Speaker
from controller.loop.step import Loop
from controller.loop.wakeups import WakeupQueue
from controller.model.observed import ContainerState
from controller.model.status import Status
from controller.ports import Recorder
from controller.settings import Settings
from controller.sources.watcher import FileWatcher
from controller.store.sqlite import SqliteStore
from observability.board import Board
from observability.metrics import Metrics
from observability.recorders import Recorders
from observability.server import Server
from reconcilers.rig import RigReconcilers

if TYPE_CHECKING:
    from controller.app.rig_file_follower import RigFileFollower

COMMAND_ANSWER_S = 30.0
"""How long a person's command waits for the loop: a pass with an engine that times out takes its read bound."""


@dataclass(slots=True)
class Controller:
    """Everything of one running controller; made by `controller_of`, which also takes it down again."""

    settings: Settings
    parts: Parts
    store: SqliteStore
    wakeups: WakeupQueue
    workers: ThreadWorkers
    runner: Runner
    commands: CommandQueue
    board: Board
    metrics: Metrics
    narrator: Recorder
    stopping: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Let the loop end after its present pass; engines go on."""
        self.stopping.set()
        self.wakeups.wake("stop")

    def has_asked(self, status: Status) -> bool:
        """Whether every running engine of this status has been asked how it is since this controller began, and no look into
        a container is under way.
        """
        observed = self.runner.loop.observed
        ours = observed.ours(status.rig) if observed else ()
        running = {container.id for container in ours if container.state is ContainerState.RUNNING}
        asked = self.runner.loop.prober.latest.keys()
        looking = self.runner.loop.inspector.is_looking()
        return not looking and running.intersection(i.engine_id for i in status.instances) <= asked

    def is_acting(self) -> bool:
        """Whether an action is under way."""
        return bool(self.runner.loop.executor.in_flight())


@contextmanager
def controller_of(settings: Settings, narrator: Recorder, only: frozenset[str] = frozenset()) -> Iterator[Controller]:
    """Take the lock and build the controller, whose journal `narrator` tells; raises LockHeld or EngineUnreachable."""
    with ExitStack() as stack:
        state_folder(settings)
        parts = parts_of(settings)
        stack.callback(parts.close)
        claims = Claims(settings, parts.world.containers.engine_id())
        claims.take(rig_name_of(settings))
        stack.callback(claims.release)
        store = SqliteStore(settings.store, settings.bounds)
        stack.callback(store.close)
        yield _assemble(settings, parts, store, claims, only, stack, narrator)


def _assemble(
    settings: Settings,
    parts: Parts,
    store: SqliteStore,
    claims: Claims,
    only: frozenset[str],
    stack: ExitStack,
    narrator: Recorder,
) -> Controller:
    bounds, wakeups = settings.bounds, WakeupQueue()
    workers = ThreadWorkers(bounds.workers, wakeups.wake)
    stack.callback(workers.close, bounds.shutdown)
    board, metrics = Board(), Metrics()
    recorder = Recorders((metrics, board, narrator))
    reconcilers = RigReconcilers(parts.world, bounds)
    desire = Desire(source_of(settings), FileResolver(settings, parts.secrets), store, claims.refusal)
    desire.load()
    commands = CommandQueue(wakeups, bounds.command_queue, COMMAND_ANSWER_S)
    loop = Loop(
        clock=parts.clock,
        store=store,
        workers=workers,
        reconcilers=reconcilers,
        desire=desire,
        recall=Recall(store, bounds),
        executor=Executor(store, workers, reconcilers),
        inspector=Inspector(parts.world.texts, workers, bounds),
        prober=Prober(parts.probe, workers, parts.secrets, parts.clock, bounds),
        speaker=Speaker(store, recorder),
        commands=commands,
        bounds=bounds,
        only=only,
    )
    store.close_open_intents(parts.clock.now())
    runner = Runner(loop, wakeups, parts.clock, recorder)
    return Controller(settings, parts, store, wakeups, workers, runner, commands, board, metrics, narrator)


@contextmanager
def serving(controller: Controller) -> Iterator[Server]:
    """The HTTP API, the command socket, the file watcher and the event follower, while the loop runs."""
    settings = controller.settings
    server = Server(
        settings.listen,
        settings.socket,
        controller.board,
        controller.commands,
        controller.metrics,
        controller.store.events,
        LogBook(settings, controller.parts.world).read,
    )
    watcher = FileWatcher(source_of(settings).watched(), controller.wakeups)
    follower = EventFollower(controller.parts.world.events, controller.wakeups, settings.bounds)
    with ExitStack() as stack:
        server.start()
        stack.callback(server.stop)
        watcher.start()
        stack.callback(watcher.stop)
        follower.start()
        stack.callback(follower.stop)
        if (follow_stage := _stage_follower(controller)) is not None:
            follow_stage.start()
            stack.callback(follow_stage.stop)
        yield server


def _stage_follower(controller: Controller) -> RigFileFollower | None:
    stage = controller.parts.stage
    if stage is None or stage.file is None:
        return None
    from controller.app.rig_file_follower import RigFileFollower

    return RigFileFollower(stage, stage.file, controller.settings.bounds, controller.narrator)


def wait_for_engine(settings: Settings, ending: threading.Event, say: Callable[[str], None]) -> None:
    """Return once the container engine answers; it is asked again with a growing pause until `ending` is set."""
    pause, said = settings.bounds.backoff_first, ""
    while not ending.is_set():
        try:
            parts_of(settings).world.containers.engine_id()
        except EngineUnreachable as fault:
            if str(fault) != said:
                said = str(fault)
                say(f"waiting for the Docker engine: {said}")
            ending.wait(pause)
            pause = min(settings.bounds.backoff_cap, pause * 2)
        else:
            return


__all__ = ["Controller", "controller_of", "serving", "wait_for_engine"]
