"""A simulated rig in place of Docker and NVML: its cards and engines live in this process and end with it."""

from __future__ import annotations

from typing import Final

from controller.adapters.http_probe import HttpProbe
from controller.adapters.kernel_clock import KernelClock
from controller.adapters.linux_host import LinuxHost
from controller.app.files import facts_of, rig_file_of, simulation_at
from controller.app.world import Parts, secrets_of
from controller.errors import EstateInvalid
from controller.settings import Settings
from controller.simulation.cards import SimulatedGpus
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.script import Script
from controller.simulation.engine_processes import EngineProcesses
from controller.simulation.overlays import SimulatedPayloads, SimulatedTexts
from controller.simulation.script_file import Simulation
from reconcilers.rig import World

USUAL: Final = Script(load_s=2.0)
"""What an engine does that no rig file says anything about: long enough a load to be seen."""


def simulated_parts(settings: Settings) -> Parts:
    """An empty rig; raises EstateInvalid or UsageError for a rig file that is wrong."""
    rig = SimulatedRig(settings, KernelClock())
    engine, secrets = rig.engine, secrets_of(settings)
    host, payloads = LinuxHost(settings.bounds), SimulatedPayloads()
    world = World(engine, engine, engine, engine, rig.gpus, host, secrets, payloads, SimulatedTexts())
    return Parts(world, HttpProbe(settings.bounds), rig.clock, secrets, rig)


class SimulatedRig:
    """Engines and cards, and the rig file that tells them what to do."""

    def __init__(self, settings: Settings, clock: KernelClock) -> None:
        """Nothing runs yet."""
        self.file = rig_file_of(settings)
        self.clock = clock
        self._processes = EngineProcesses(clock)
        self.engine = SimulatedEngine(clock, self._processes)
        self.engine.registry_has_all = True
        self.gpus = SimulatedGpus(facts_of(settings), self.engine.cells, clock)
        self._bounds = settings.bounds
        self._obeyed = Simulation(default=USUAL)
        self.engine.default = USUAL
        self.reload()

    def reload(self) -> bool:
        """Let running engines and the cards do what the file says by now; whether that is something else than before.

        Raises EstateInvalid, and then everything goes on as before.
        """
        wanted = Simulation(default=USUAL) if self.file is None else simulation_at(self.file, self._bounds)
        if isinstance(wanted, tuple):
            raise EstateInvalid(wanted)
        before, self._obeyed = self._obeyed, wanted
        self.gpus.changes = wanted.cards
        self.engine.default = wanted.default
        running = {found.identity.instance for found in self.engine.list() if found.identity}
        for name in sorted({*running, *before.engines, *wanted.engines}):
            script = wanted.of(name)
            if script != before.of(name):
                self.engine.change(name, script)
        return wanted != before

    def close(self) -> None:
        """End every engine."""
        self._processes.close()
