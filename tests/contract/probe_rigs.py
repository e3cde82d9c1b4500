"""An engine of each kind and the probe that asks it: scripts in memory, engine processes, and a real llama.cpp in Docker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from controller.adapters.kernel_clock import KernelClock
from controller.model.observed import EngineMetrics, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known
from controller.model.resolved import Mount, Serving
from controller.ports import Clock, EngineProbe, ProbeTarget
from controller.simulation.engine.script import Script
from tests.contract.http_servers import free_port
from tests.contract.rigs import Rig

LLAMACPP_IMAGE: Final = "steward-test/llamacpp:1"
MODEL: Final = "tiny.gguf"
NAME: Final = "chat"


@dataclass(slots=True)
class ProbeRig:
    """Engines that a test starts, and a probe for them."""

    rig: Rig
    probe: EngineProbe
    clock: Clock = field(default_factory=KernelClock)
    models: Path | None = None
    """Where the model of a real engine lies; None for simulated ones."""

    def start(self, script: Script, dialect: DialectName = DialectName.LLAMACPP) -> ProbeTarget:
        """An engine that has just been started, as the probe is told of it: wanted under the name `chat`."""
        port = free_port()
        container = self.rig.started(script=script, dialect=dialect, port=port, **self._spec(script, dialect))
        patience = 5.0 if self.models is None else 60.0
        return ProbeTarget(container, Serving(dialect, port, served_names=(NAME,)), patience, patience, True)

    def serving(self, script: Script) -> ProbeTarget:
        """The same, once it no longer refuses and no longer loads."""
        target = self.start(script)
        self.until(target, lambda found: found.phase not in (ServePhase.REFUSED, ServePhase.LOADING))
        return target

    def ask(self, target: ProbeTarget, **changes: Any) -> Probe:
        """One probe, of a target with these changes."""
        return self.probe.probe(replace(target, **changes), self.clock.now())

    def until(self, target: ProbeTarget, wanted: Callable[[Probe], bool]) -> list[Probe]:
        """Every answer up to the first wanted one; completions are not asked for."""
        answers: list[Probe] = []

        def ask() -> bool:
            answers.append(self.ask(target, want_completion=False))
            return wanted(answers[-1])

        self.rig.wait(ask)
        return answers

    def metrics(self, target: ProbeTarget) -> EngineMetrics:
        """Its figures, which have to be there."""
        found = self.ask(target, want_completion=False).metrics
        assert isinstance(found, Known), found
        return found.value

    def _spec(self, script: Script, dialect: DialectName) -> Mapping[str, Any]:
        if self.models is None:
            flag = "--alias" if dialect is DialectName.LLAMACPP else "--served-model-name"
            return {"argv": (flag, NAME)}
        argv = ("-m", f"/models/{MODEL}", "--alias", script.serves or NAME, "--host", "0.0.0.0", "--port", "8000", "--metrics")
        mounts = (Mount(str(self.models), "/models", read_only=True),)
        return {"image": LLAMACPP_IMAGE, "argv": (*argv, "-c", "4096", "-np", "1"), "mounts": mounts}
