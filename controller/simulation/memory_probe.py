"""The probe of scripted processes: what a real engine of the type would answer at this moment, and how long that would take."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from controller.errors import StewardError
from controller.model.moment import Instant
from controller.model.observed import Completion, ContainerState, EngineMetrics, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known, Reading, Unknown
from controller.ports import ProbeTarget
from controller.simulation.cell import Cell
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.health import FIRST_LOOK_S
from controller.simulation.engine.manners import MANNERS, Manner
from controller.simulation.engine.script import Script
from controller.simulation.life import ready_at
from controller.simulation.scripted import ScriptedProcess
from controller.simulation.work import made_up, metrics

_TOKENS: Final = 4
_PROMPT_TOKENS: Final = 10


@dataclass(slots=True)
class MemoryProbe:
    """Asks the engines in memory; `asked` keeps the targets in order."""

    engine: SimulatedEngine
    asked: list[ProbeTarget] = field(default_factory=list)

    def probe(self, target: ProbeTarget, now: Instant) -> Probe:
        """Health, the served name, on request one completion, and the metrics; never raises."""
        self.asked.append(target)
        try:
            cell = self.engine.cells.find(target.container)
        except StewardError as error:
            return _failed(now, ServePhase.REFUSED, str(error))
        process = cell.process
        if not cell.seen.running or not isinstance(process, ScriptedProcess):
            return _failed(now, ServePhase.REFUSED, "connection refused")
        interview = _Interview(self.engine, target, cell, process, now)
        return interview.tenant() if target.serving.dialect is DialectName.GENERIC else interview.engine_type()


@dataclass(frozen=True, slots=True)
class _Interview:
    """The questions to one engine, in order; the first one that it fails ends them."""

    engine: SimulatedEngine
    target: ProbeTarget
    cell: Cell
    process: ScriptedProcess
    now: Instant

    @property
    def script(self) -> Script:
        """As it holds at this age."""
        return self.process.life.at(self.process.age())

    @property
    def manner(self) -> Manner:
        """Of its engine type."""
        return MANNERS[self.process.config.dialect]

    def tenant(self) -> Probe:
        """A generic tenant is as ready as its own readiness says."""
        found = self._health()
        if found.phase is ServePhase.LOADING and self.target.serving.readiness.kind != "http":
            found = Probe(self.now, ServePhase.SERVING)  # whoever only knocks meets an open port
        return replace(found, metrics=Unknown("the engine type generic has no metrics"))

    def engine_type(self) -> Probe:
        """Health, names, the completion if it is wanted, and the metrics of whatever answers."""
        found = self._names(self._health())
        if found.phase is ServePhase.SERVING and self.target.want_completion:
            found = replace(found, completion=self._completion())
        if found.phase in (ServePhase.REFUSED, ServePhase.SILENT):
            return found
        return replace(found, metrics=self._metrics())

    def _health(self) -> Probe:
        script, age = self.script, self.process.age()
        if age < self.process.life.first(partial(_listens_at, self.manner)):
            return _failed(self.now, ServePhase.REFUSED, "connection refused")
        if script.health == "silent" or self.cell.seen.state is ContainerState.PAUSED:
            return self._silence()
        if script.health is not None:
            phase = ServePhase.LOADING if script.health == "503" else ServePhase.FAILING
            return _failed(self.now, phase, f"/health answers {script.health}")
        if age < self.process.life.ready_at:
            return _failed(self.now, ServePhase.LOADING, "/health answers 503: Loading model")
        if script.busy_503 and script.requests:
            return _failed(self.now, ServePhase.LOADING, "/health answers 503: busy")
        if self.manner.generating_health:
            self.engine.processes.spend(FIRST_LOOK_S)
            if self.process.draining:
                return _failed(self.now, ServePhase.LOADING, "/health answers 503: Shutting down")
        return Probe(self.now, ServePhase.SERVING)

    def _names(self, found: Probe) -> Probe:
        if found.phase is not ServePhase.SERVING or not self.target.serving.served_names:
            return found
        config, serves = self.process.config, self.script.serves
        names, wanted = (config.names if serves is None else (serves,)), self.target.serving.served_names[0]
        if config.api_key and config.api_key != self.target.api_key:
            return _failed(self.now, ServePhase.FAILING, "the api key is refused: /v1/models answers 401")
        if wanted in names:
            return replace(found, served=True)
        failed = _failed(self.now, ServePhase.FAILING, f"serves {', '.join(names)} and not {wanted}")
        return replace(failed, served=False)

    def _completion(self) -> Completion:
        """One request of a few tokens, which takes its time and is counted."""
        script, age = self.script, self.process.age()
        if self.process.draining:
            return Completion(False, "the completion answers 503: Shutting down")
        tokens = 0 if script.answers == "empty" else min(_TOKENS, script.answer_tokens)
        seconds = script.prefill_stall_s + script.ttft_s + tokens / script.tps
        limit = self.target.completion_timeout_s
        if script.prefill_stall_s:
            self.process.stalls.append((age, age + script.prefill_stall_s))
        if script.hang or seconds > limit:
            self.engine.processes.spend(limit)
            return Completion(False, f"no complete answer within {limit:g} s")
        self.engine.processes.spend(seconds)
        self.process.answered.prefill(1, _PROMPT_TOKENS)
        self.process.answered.decode(tokens, tokens / script.tps, tokens, script.acceptance)
        if tokens < 1:
            return Completion(False, "the completion counts no token", seconds)
        return Completion(True, f"{tokens} tokens, finish reason length", seconds, tokens)

    def _metrics(self) -> Reading[EngineMetrics]:
        config, script, age = self.process.config, self.script, self.process.age()
        if age < self.process.life.ready_at:
            return Unknown("/metrics answers 503: Loading model")
        work = made_up(self.process.life, age, config.slots, self.process.stalls) + self.process.answered
        found = metrics(config, script, work, self.cell.started_at or 0.0, self.target.serving.dialect)
        return Known(found) if found is not None else Unknown("/metrics answers 404")

    def _silence(self) -> Probe:
        """Wait in vain."""
        self.engine.processes.spend(self.target.timeout_s)
        return _failed(self.now, ServePhase.SILENT, f"no answer within {self.target.timeout_s:g} s")


def _listens_at(manner: Manner, script: Script) -> float:
    """The age from which a connection is taken."""
    share = {"refused": 1.0, "503": 0.0}.get(script.load_phase or "", manner.listens_at)
    at = ready_at(script) if share == 1.0 else share * script.load_s
    return math.inf if script.stall_s is not None and at > script.stall_s else at


def _failed(now: Instant, phase: ServePhase, detail: str) -> Probe:
    return Probe(now, phase, detail, metrics=Unknown(f"not scraped: {detail}"))
