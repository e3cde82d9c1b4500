"""A demo from its first line to its last: the controller of its folder, the stage on which it is told, and the guide."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from controller.adapters.kernel_clock import KernelClock
from controller.app.files import FileResolver, read_resolved
from controller.app.live import Controller, controller_of, serving
from controller.app.peek import look
from controller.cli.demo_ending import Ending
from controller.cli.demo_folder import DemoFolder
from controller.cli.demo_guide import Places, guide, opening, request_for
from controller.cli.demo_stage import LiveStage, PlainStage
from controller.cli.demo_teller import Teller
from controller.cli.live_table import LiveTable, painting
from controller.cli.output import has_color, print_text, width
from controller.cli.tty import Tty, borrowed
from controller.errors import EstateInvalid, StewardError
from controller.model.resolved import ResolvedInstance
from controller.model.status import Status
from controller.settings import Settings
from observability.text import plan_text


@dataclass(frozen=True, slots=True)
class Demo:
    """Runs until `ending` is asked for."""

    folder: DemoFolder
    settings: Settings
    ending: Ending
    notes: tuple[str, ...] = ()
    """What is not as the docs have it."""

    def run(self) -> None:
        """Keep the folder's estate and tell it; raises what a controller raises."""
        places = Places(_program(), str(self.folder.estate), str(self.folder.rig), str(self.folder.state))
        teller = Teller(PlainStage(print_text, self._gone, width()), has_color())
        with controller_of(self.settings, teller) as controller, serving(controller) as server:
            self.ending.stop = controller.stop
            if self.ending.asked:
                return
            print_text(opening(places, server.address, self.notes))
            self._print_plan()
            teller.guide = lambda status: self._guide(places, controller, status)
            with self._stage(teller, places):
                controller.runner.until(lambda _status: False, controller.stopping.is_set)

    @contextmanager
    def _stage(self, teller: Teller, places: Places) -> Iterator[None]:
        """A terminal that can move its cursor gets the table below the journal."""
        if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
            yield
            return
        tty = Tty(sys.stdout.fileno(), sys.stdout.encoding)
        table = LiveTable(tty)
        self.ending.give_back = tty.give_back
        plain = teller.stage
        teller.stage = LiveStage(table, KernelClock(), f"Ctrl-C ends the demo · {places.estate}", has_color())
        with borrowed(tty), painting(table, self._gone):
            yield
        teller.stage = plain

    def _gone(self) -> None:
        """Nobody watches any more."""
        self.ending.stop()

    def _print_plan(self) -> None:
        """What would be done now; an estate that is refused is told by the controller."""
        with suppress(EstateInvalid):
            print_text("\n" + plan_text(look(self.settings).plan) + "\n")

    def _guide(self, places: Places, controller: Controller, status: Status) -> str:
        victim = status.instances[-1]
        containers = controller.parts.world.containers.list()
        pid = next((container.pid for container in containers if container.id == victim.engine_id), 0)
        try:
            estate = self.folder.estate.read_text()
        except (OSError, UnicodeError):
            estate = ""
        return guide(places, estate, request_for(self._instances()), victim.name, pid)

    def _instances(self) -> tuple[ResolvedInstance, ...]:
        try:
            return read_resolved(self.settings, FileResolver(self.settings), {}).instances
        except StewardError:
            return ()


def _program() -> str:
    """How another terminal starts this program: by its name where the shell finds it, else by its path."""
    started = Path(sys.argv[0])
    if started.name != "steward":
        return f"{shlex.quote(sys.executable)} -m controller.cli"
    found = shutil.which("steward")
    if found is not None and Path(found).resolve() == started.resolve():
        return "steward"
    return shlex.quote(str(started.absolute()))
