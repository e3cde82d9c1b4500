"""The probe of an engine in memory: answers from the container's script and its age, by the same phases as a real engine."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.errors import StewardError
from controller.model.moment import Instant
from controller.model.observed import Completion, ContainerState, EngineMetrics, Probe, ServePhase
from controller.model.reading import Known
from controller.ports import ProbeTarget
from controller.simulation.memory_cells import Cell
from controller.simulation.memory_engine import MemoryEngine

_COMPLETION_TOKENS = 8


@dataclass(slots=True)
class MemoryProbe:
    """Asks the engine in memory; `asked` keeps the targets in order."""

    engine: MemoryEngine
    asked: list[ProbeTarget] = field(default_factory=list)

    def probe(self, target: ProbeTarget, now: Instant) -> Probe:
        """Health, the served name, on request one completion, and the metrics; never raises."""
        self.asked.append(target)
        try:
            cell = self.engine.cells.find(target.container)
        except StewardError as error:
            return Probe(now, ServePhase.REFUSED, str(error))
        if cell.seen.state is ContainerState.PAUSED:
            return Probe(now, ServePhase.SILENT, f"no answer within {target.timeout_s:g} s")
        if not cell.seen.running:
            return Probe(now, ServePhase.REFUSED, "connection refused")
        phase = cell.script.phase(cell.age(now.wall))
        return _serving(target, cell, now) if phase is ServePhase.SERVING else Probe(now, phase, phase.value)


def _serving(target: ProbeTarget, cell: Cell, now: Instant) -> Probe:
    script, age = cell.script, cell.age(now.wall)
    return Probe(
        now,
        ServePhase.SERVING,
        served=script.served if target.serving.served_names else None,
        completion=_completion(script.completes) if target.want_completion else None,
        metrics=Known(
            EngineMetrics(
                generation_tokens=script.generated(age),
                running=float(script.running_requests(age)),
                waiting=0.0,
                process_start=cell.seen.started_at,
            )
        ),
    )


def _completion(fine: bool) -> Completion:
    if not fine:
        return Completion(ok=False, detail="the request finished without a token", seconds=0.1)
    return Completion(ok=True, detail="", seconds=0.1, tokens=_COMPLETION_TOKENS)
