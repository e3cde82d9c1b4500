"""Asks an engine over HTTP how it is: health, the served name, on request one real completion, and its metrics.

A 200 on the health path says that a process answers, not that it serves: the canonical name must be listed, and before an
engine counts as ready it must have completed one request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from controller.adapters.http.checks import Answer, judge_completion, listed_names, refusal, unlisted
from controller.adapters.http.fetch import Fetcher, NoAnswer, Question
from controller.dialects.dialect import Dialect
from controller.dialects.exposition import samples
from controller.dialects.registry import dialect
from controller.errors import SpecFault
from controller.model.moment import Instant
from controller.model.observed import Completion, EngineMetrics, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known, Reading, Unknown
from controller.ports import ProbeTarget
from controller.settings import Bounds

PROMPT: Final = "Count from one to ten: one, two, three,"
MAX_TOKENS: Final = 4
_PROCESS_START: Final = "process_start_time_seconds"


class HttpProbe:
    """Implements the port EngineProbe; any thread may call it."""

    def __init__(self, bounds: Bounds) -> None:
        """One client for all engines."""
        self._fetcher = Fetcher(bounds)

    def probe(self, target: ProbeTarget, now: Instant) -> Probe:
        """Ask the engine; whatever it does, the answer is a Probe."""
        try:
            spoken = dialect(target.serving.dialect)
        except SpecFault as error:
            return Probe(now, ServePhase.FAILING, str(error), metrics=Unknown(str(error)))
        interview = _Interview(self._fetcher, target, spoken, now)
        return interview.tenant() if target.serving.dialect is DialectName.GENERIC else interview.engine()

    def close(self) -> None:
        """Close what is open."""
        self._fetcher.close()


@dataclass(frozen=True, slots=True)
class _Interview:
    """The questions to one engine, in order; the first one that it fails ends them."""

    fetcher: Fetcher
    target: ProbeTarget
    engine_type: Dialect
    now: Instant

    def tenant(self) -> Probe:
        """A generic tenant is as ready as its own readiness says; it has no names, completions or metrics."""
        readiness = self.target.serving.readiness
        if readiness.kind == "http":
            return self._tenant_page(readiness.path or "/")
        failed = self.fetcher.knock(self.target) if readiness.kind == "tcp" else None
        return self._failed(failed) if failed else Probe(self.now, ServePhase.SERVING, metrics=_no_metrics(self.engine_type))

    def _tenant_page(self, path: str) -> Probe:
        answer = self._ask(path if path.startswith("/") else f"/{path}")
        if isinstance(answer, NoAnswer):
            return self._failed(answer)
        if 200 <= answer.status < 400:
            return Probe(self.now, ServePhase.SERVING, metrics=_no_metrics(self.engine_type))
        return self._failed(_failure(path, answer))

    def engine(self) -> Probe:
        """Health, names, the completion if it is wanted, and the metrics of whatever answers."""
        found = self._names(self._health())
        if found.phase is ServePhase.SERVING and self.target.want_completion:
            found = self._completed(found)
        if found.phase in (ServePhase.REFUSED, ServePhase.SILENT):
            return found
        return replace(found, metrics=self._metrics())

    def _health(self) -> Probe:
        path = self.engine_type.endpoints.health
        answer = self._ask(path) if path else None
        if isinstance(answer, NoAnswer):
            return self._failed(answer)
        if path and answer and answer.status != 200:
            return self._failed(_failure(path, answer))
        return Probe(self.now, ServePhase.SERVING)

    def _names(self, found: Probe) -> Probe:
        path, wanted = self.engine_type.endpoints.models, self.target.serving.served_names[:1]
        if found.phase is not ServePhase.SERVING or not path or not wanted:
            return found
        answer = self._ask(path)
        if isinstance(answer, NoAnswer):
            return self._failed(answer)
        if answer.status != 200:
            return self._failed(_failure(path, answer))
        missing = unlisted(wanted[0], listed_names(answer))
        failed = self._failed(NoAnswer(ServePhase.FAILING, missing))
        return replace(failed, served=False) if missing else replace(found, served=True)

    def _completed(self, found: Probe) -> Probe:
        path = self.engine_type.endpoints.completion
        if not path:
            return found
        document: dict[str, object] = {"prompt": PROMPT, "max_tokens": MAX_TOKENS, "temperature": 0}
        if names := self.target.serving.served_names:
            document["model"] = names[0]
        answer = self.fetcher.ask(self.target, Question(path, self.target.completion_timeout_s, document))
        if isinstance(answer, NoAnswer):
            return replace(found, completion=Completion(False, answer.detail))
        completion = judge_completion(answer)
        if answer.status in (401, 403):
            return replace(found, phase=ServePhase.FAILING, detail=refusal(path, answer), completion=completion)
        return replace(found, completion=completion)

    def _metrics(self) -> Reading[EngineMetrics]:
        path = self.engine_type.endpoints.metrics
        if not path:
            return _no_metrics(self.engine_type)
        answer = self._ask(path)
        if isinstance(answer, NoAnswer):
            return Unknown(answer.detail)
        if answer.status != 200:
            return Unknown(refusal(path, answer))
        try:
            found = samples(answer.body.decode("utf-8"))
        except ValueError:
            return Unknown(f"{path} answers no Prometheus text")
        metrics = self.engine_type.metrics(found)
        started = answer.started_at if answer.started_at is not None else found.get(_PROCESS_START)
        return Known(metrics if started is None else replace(metrics, process_start=started))

    def _ask(self, path: str) -> Answer | NoAnswer:
        return self.fetcher.ask(self.target, Question(path, self.target.timeout_s))

    def _failed(self, answer: NoAnswer) -> Probe:
        return Probe(self.now, answer.phase, answer.detail, metrics=Unknown(f"not scraped: {answer.detail}"))


def _failure(path: str, answer: Answer) -> NoAnswer:
    """503 is the answer of an engine that still loads (or is busy or draining); all else is a fault."""
    phase = ServePhase.LOADING if answer.status == 503 else ServePhase.FAILING
    return NoAnswer(phase, refusal(path, answer))


def _no_metrics(engine_type: Dialect) -> Unknown:
    return Unknown(f"the engine type {engine_type.name} has no metrics")
