"""What a scripted engine has done by an age: an exact integral over its script, so that two looks differ by what they span."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from controller.dialects.registry import DIALECTS
from controller.model.observed import EngineMetrics
from controller.model.profile import DialectName
from controller.simulation.engine.config import Config
from controller.simulation.engine.counts import DRAFT
from controller.simulation.engine.decoder import MADE_UP_PROMPT
from controller.simulation.engine.metric_tables import families
from controller.simulation.engine.script import Script
from controller.simulation.life import Life

_STARTED_HEADER: Final = "llamacpp"
"""Whose metrics come with the time of its start beside them."""
_STEPS: Final = "batch"
"""The histogram whose count is the engine's steps."""


@dataclass(slots=True)
class Work:
    """Sums since the start; `seconds` are spent decoding, of all requests together."""

    tokens: float = 0.0
    seconds: float = 0.0
    steps: float = 0.0
    prompt_tokens: float = 0.0
    accepted: float = 0.0
    drafted: float = 0.0

    def decode(self, tokens: float, seconds: float, steps: float, acceptance: float | None) -> None:
        """Tokens were made."""
        self.tokens += tokens
        self.seconds += seconds
        self.steps += steps
        if acceptance is not None:
            drafted = tokens * DRAFT / (1 + acceptance * DRAFT)
            self.drafted, self.accepted = self.drafted + drafted, self.accepted + drafted * acceptance

    def prefill(self, requests: float, tokens: float) -> None:
        """Prompts were read."""
        self.steps += requests
        self.prompt_tokens += tokens

    def __add__(self, other: Work) -> Work:
        """Both together."""
        return Work(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def made_up(life: Life, age: float, slots: int, stalls: Sequence[tuple[float, float]]) -> Work:
    """The work on the script's made-up requests by this age; nothing advances during a stall."""
    work = Work()
    for span in life.loaded(age):
        script = span.script
        if script.hang or not script.requests:
            continue
        stalled = sum(max(0.0, min(span.end, until) - max(span.begin, since)) for since, until in stalls)
        seconds = span.end - span.begin - stalled
        running = min(script.requests, script.concurrency or slots)
        tokens = seconds * script.tps * running
        work.decode(tokens, seconds * running, seconds * script.tps, script.acceptance)
        work.prefill(tokens / script.answer_tokens, tokens / script.answer_tokens * MADE_UP_PROMPT)
    return work


def metrics(config: Config, script: Script, work: Work, started_at: float, asked_as: DialectName) -> EngineMetrics | None:
    """What its metrics page says to somebody who takes it for an engine of this type; None when it has no such page."""
    names = _names(config.dialect, script.metrics, script.acceptance is not None)
    spoken = DIALECTS.get(asked_as)
    if not names or spoken is None:
        return None
    slots = script.concurrency or config.slots
    running = min(script.requests, slots)
    figures: Mapping[str, float] = {
        "prompt_tokens": work.prompt_tokens,
        "generated_tokens": work.tokens,
        "generated_seconds": work.seconds,
        "steps": work.steps,
        _STEPS: work.steps,
        "draft_tokens": work.drafted,
        "accepted_tokens": work.accepted,
        "running": running,
        "waiting": script.requests - running,
        "kv_usage": min(1.0, running * (MADE_UP_PROMPT + script.answer_tokens // 2) / (config.context * slots)),
        "started_at": started_at,
    }
    found = spoken.metrics({name: float(figures[figure]) for name, figure in names if figure in figures})
    return replace(found, process_start=started_at) if config.dialect == _STARTED_HEADER else found


@cache
def _names(dialect: str, version: str | None, drafter: bool) -> tuple[tuple[str, str], ...]:
    """The names of a version's metrics, each with the figure that it shows."""
    return tuple(
        (f"{family.name}_count" if family.kind == "histogram" else family.name, family.figure)
        for family in families(dialect, version, drafter)
    )
