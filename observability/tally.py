"""What is counted over the life of the process, without any metrics library. Not thread-safe; its owner holds a lock."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.plan import Action
from controller.model.status import InstanceStatus, Status, Truth
from observability.documents import finite

OTHER: Final = "other"
TRIGGERS: Final = frozenset({"start", "stop", "timer", "file", "event", "relist", "action", "worker", "command"})
PASS_RESULTS: Final = frozenset({"done", "failed"})
ACTION_RESULTS: Final = frozenset({"done", "fault", "refused", "unknown"})
ACTIONS: Final = frozenset(action.value for action in Action)
REASONS_AT_MOST: Final = 32
"""Restart reasons come from the dialects; more distinct ones than this in one process are counted as `other`."""
PASS_BUCKETS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds in seconds: a pass is meant to take milliseconds, and a slow engine makes it take its read bound."""

K = TypeVar("K", bound=tuple[str, ...])
V = TypeVar("V")
_REASON = re.compile(r"[A-Z][A-Za-z0-9]{2,47}")


@dataclass(slots=True)
class Climb:
    """A counter of ours over an engine's: the engine's begins again with every start, ours never goes down."""

    base: float = 0.0
    last: float = 0.0
    engine: str = ""

    def take(self, engine: str, value: float) -> None:
        """The counter of this container reads `value`; a lower reading or another container is a new start."""
        if engine != self.engine or value < self.last:
            self.base += self.last
        self.engine, self.last = engine, value

    @property
    def total(self) -> float:
        """All that was counted."""
        return self.base + self.last


@dataclass(frozen=True, slots=True)
class Totals:
    """One snapshot of the tally; `buckets` are not cumulated and end with the overflow."""

    passes: Mapping[tuple[str, str], int]
    buckets: tuple[int, ...]
    seconds: float
    last_success: float | None
    source_read: float | None
    actions: Mapping[tuple[str, str, str], int]
    restarts: Mapping[tuple[str, str], int]
    tokens: Mapping[tuple[str, str], float]
    """(instance, `generation` or `prompt`) -> tokens, for the engines that tell now."""


@dataclass(slots=True)
class Tally:
    """Counts passes, actions, restarts and tokens; what belongs to an instance goes when the instance is gone."""

    _passes: Counter[tuple[str, str]] = field(default_factory=Counter)
    _buckets: list[int] = field(default_factory=lambda: [0] * (len(PASS_BUCKETS) + 1))
    _seconds: float = 0.0
    _last_success: float | None = None
    _source_read: float | None = None
    _actions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _restarts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _climbs: dict[tuple[str, str], Climb] = field(default_factory=dict)
    _told: frozenset[tuple[str, str]] = frozenset()
    _reasons: set[str] = field(default_factory=set)

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:
        """One pass ended."""
        self._passes[_known(trigger, TRIGGERS), _known(result, PASS_RESULTS)] += 1
        self._buckets[bisect_left(PASS_BUCKETS, seconds)] += 1
        self._seconds += max(0.0, seconds)
        if result == "done":
            self._last_success = now.wall

    def acted(self, instance: str, action: str, result: str) -> None:
        """One action ended."""
        self._actions[instance, _known(action, ACTIONS), _known(result, ACTION_RESULTS)] += 1

    def event(self, event: Event) -> None:
        """Count the death of an engine that was ready; its reason is the cause, or the first word of the message."""
        if event.kind == "EngineExited" and event.instance:
            self._restarts[event.instance, self._reason(event.cause or event.message.partition(":")[0])] += 1

    def show(self, status: Status) -> None:
        """Follow the engines' token counters, and forget the instances that are gone.

        Without an estate in force nothing is forgotten: nobody has said that an instance is gone. The empty name stands for
        actions on the rig itself.
        """
        if any(c.type == "SourceReady" and c.status is Truth.TRUE for c in status.conditions):
            self._source_read = status.at.wall
        self._told = frozenset(key for instance in status.instances for key in self._follow(instance))
        if status.accepted:
            there = {"", *(i.name for i in status.instances), *(step.instance for step in status.plan.steps)}
            _forget(self._actions, there)
            _forget(self._restarts, there)
            _forget(self._climbs, there)

    def totals(self) -> Totals:
        """A copy that does not change any more."""
        return Totals(
            passes=dict(self._passes),
            buckets=tuple(self._buckets),
            seconds=self._seconds,
            last_success=self._last_success,
            source_read=self._source_read,
            actions=dict(self._actions),
            restarts=dict(self._restarts),
            tokens={key: self._climbs[key].total for key in sorted(self._told)},
        )

    def _follow(self, instance: InstanceStatus) -> Iterable[tuple[str, str]]:
        metrics = instance.metrics
        if metrics is None:
            return
        for kind, value in (("generation", metrics.generation_tokens), ("prompt", metrics.prompt_tokens)):
            count = finite(value)
            if count is not None and count >= 0:
                self._climbs.setdefault((instance.name, kind), Climb()).take(instance.engine_id, count)
                yield instance.name, kind

    def _reason(self, text: str) -> str:
        fits = _REASON.fullmatch(text) is not None
        if not fits or (text not in self._reasons and len(self._reasons) >= REASONS_AT_MOST):
            return OTHER
        self._reasons.add(text)
        return text


def _forget(table: MutableMapping[K, V], there: set[str]) -> None:
    """Drop the rows of instances that are gone; every table is keyed by the instance first."""
    for key in [key for key in table if key[0] not in there]:
        del table[key]


def _known(text: str, names: frozenset[str]) -> str:
    return text if text in names else OTHER
