"""The processes of the simulated rig that runs for real: one simulated engine a container, with a real port and a real pid.

An engine belongs to this process. It reads its orders from a pipe, so it ends when this process does, however that happens.
Ctrl-C reaches only this one: each engine has a process group of its own. It has no session of its own, because the kernel
wakes a frozen process whose parent has died only within the parent's session.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from controller.errors import EnvironmentFault
from controller.ports import Clock
from controller.simulation.engine import wire
from controller.simulation.engine.config import Config, ConfigError, configure
from controller.simulation.engine_process import EngineProcess, RefusedProcess
from controller.simulation.port_claim import claim
from controller.simulation.process import Order, Process

GRACE_S: Final = 2.0
"""What all engines together get after TERM when the rig is closed."""
PATIENCE_S: Final = 0.1
_PACKAGES: Final = str(Path(__file__).resolve().parents[2])
"""Where this very Steward is imported from, a checkout or a wheel."""


class EngineProcesses:
    """Starts engines, and ends them at the latest with this process."""

    def __init__(self, clock: Clock) -> None:
        """None yet; `clock` is one whose time passes by itself."""
        self._clock = clock
        self._changed = threading.Condition()
        self._running: list[EngineProcess] = []
        self._closing = threading.Event()
        atexit.register(self.close)

    def start(self, order: Order) -> Process:
        """Begin a run; raises PortTaken, and EnvironmentFault when the machine cannot run one more process."""
        try:
            config = configure(order.argv, order.env, dialect=order.dialect.value, base=order.script)
        except ConfigError as error:
            return RefusedProcess(order.script, str(error), self._clock)
        process = self._launch(order, config)
        with self._changed:
            self._running = [known for known in self._running if known.ended() is None]
            if not self._closing.is_set():
                self._running.append(process)
                return process
        process.kill()
        raise EnvironmentFault("the simulated rig is being closed")

    def wait(self, stopping: Callable[[], bool]) -> bool:
        """Wait until an engine ends, or a short while."""
        with self._changed:
            if not stopping():
                self._changed.wait(PATIENCE_S)
        return True

    def spend(self, seconds: float) -> None:
        """Let the call that asks take this much longer, unless all is over before."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """End all of them: TERM, a short grace for all together, KILL. A second call finds nothing left."""
        atexit.unregister(self.close)
        with self._changed:
            self._closing.set()
            running, self._running = self._running, []
        for process in running:
            process.terminate()
        deadline = self._clock.now().mono + GRACE_S
        for process in running:
            process.outlast(deadline - self._clock.now().mono)

    def _launch(self, order: Order, config: Config) -> EngineProcess:
        with claim(order.name, order.bind, order.port) as door:
            command = [sys.executable, "-P", "-S", "-m", "controller.simulation.engine"]
            command += ["--controlled", order.name, "--listen-fd", str(door.fileno())]
            try:
                program = subprocess.Popen(
                    command,
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd="/",
                    env={"LANG": "C.UTF-8", "PYTHONPATH": _PACKAGES},
                    pass_fds=(door.fileno(),),
                    process_group=0,
                )
            except OSError as error:
                raise EnvironmentFault(f"no process for {order.name}: {(error.strerror or str(error)).lower()}") from error
        process = EngineProcess(program, config.script, self._clock, self._ended)
        process.tell(wire.config_to_json(config))
        return process

    def _ended(self) -> None:
        with self._changed:
            self._changed.notify_all()
