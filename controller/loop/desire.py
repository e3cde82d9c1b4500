"""What the files ask for and what is in force: the last accepted revision stays until a better one is accepted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from controller.model.moment import Instant
from controller.model.observed import Container
from controller.model.problem import Problem, Severity, in_report_order
from controller.model.reading import Known, Reading
from controller.model.resolved import GpuBinding, Resolved
from controller.model.rig import RigFacts
from controller.model.snapshot import Snapshot
from controller.ports import Resolver, Source, Store
from controller.rollout.acceptance import mass_change, may_be_half_written

UNFINISHED_S: Final = 4.0
"""How long a changed revision that looks half-written must stand before it is believed: more than any program takes to save."""


_KEPT: Final = 4
"""Resolutions that are remembered: of the newest revision and of the one in force, with the cards as they are."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one look at the source brought: `accepted`, `refused` with its problems, `deferred`, or `same`."""

    kind: str
    revision: str = ""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What a revision resolved to, and the span of wall time (Unix seconds) in which that holds: waivers end."""

    outcome: Resolved | tuple[Problem, ...]
    since: float
    until: float

    def holds(self, now: Instant) -> bool:
        """Whether it still says what the rules would; not when the clock was set back behind it either."""
        return self.since <= now.wall < self.until


def _nobody_else(rig: str) -> str:  # noqa: ARG001 - the shape of `refusal`
    return ""


@dataclass(slots=True)
class Desire:
    """Reads the source, resolves it, and decides what is in force."""

    source: Source
    resolver: Resolver
    store: Store
    refusal: Callable[[str], str] = _nobody_else
    """Makes this process the writer of a rig name, or says why it cannot be; nothing of such a rig is ever in force."""
    snapshot: Snapshot | None = None
    """The newest snapshot that was read, accepted or not."""
    accepted: Snapshot | None = None
    problems: tuple[Problem, ...] = ()
    source_ok: bool = False
    read_at: Instant | None = None
    _judged: str = ""
    _judgement: _Judgement | None = None
    """What came of the revision that was judged last."""
    _has_read: bool = False
    _since: float = -math.inf
    """When (monotonic) the newest snapshot was first read; what this process found when it began counts as old."""
    _cache: dict[tuple[object, ...], _Judgement] = field(default_factory=dict)
    _bindings: dict[str, GpuBinding] | None = None

    def load(self) -> None:
        """Take up the revision that an earlier process accepted."""
        self.accepted = self.store.accepted()

    def read(self, now: Instant) -> tuple[Problem, ...]:
        """Read the source; the problems when it could not be read (what was in force stays)."""
        found = self.source.read()
        began, self._has_read = not self._has_read, True
        if isinstance(found, tuple):
            self.source_ok = False
            self.problems, self._judged = found, ""
            return found
        if self.snapshot is None or self.snapshot.revision != found.revision:
            self._since = -math.inf if began else now.mono
        self.source_ok, self.read_at, self.snapshot = True, now, found
        return ()

    def has_news(self, now: Instant) -> bool:
        """Whether a revision was read that has not been judged yet, or whose judgement does not hold any more."""
        if not self.source_ok or self.snapshot is None:
            return False
        stale = self._judgement is not None and not self._judgement.holds(now)
        return stale or self.snapshot.revision != self._judged

    @property
    def believed_at(self) -> float:
        """From when on (monotonic) the newest snapshot is judged even if it looks half-written."""
        return self._since + UNFINISHED_S

    def judge(self, cards: RigFacts, containers: Reading[tuple[Container, ...]], now: Instant) -> Change:
        """Accept or refuse the newest snapshot, once for each revision, and again when one of its waivers has ended."""
        snapshot = self.snapshot
        if snapshot is None or not self.has_news(now):
            return Change("same")
        self._judgement = self._resolve(snapshot, cards, now)
        resolved = self._judgement.outcome
        if isinstance(resolved, tuple):
            return self._refuse(snapshot, resolved)
        if reason := self.refusal(resolved.rig.name):
            hint = "choose another rig.name, or stop the other Steward and save this file again"
            return self._refuse(snapshot, (Problem(Severity.ERROR, "rig-name", f"rig {resolved.rig.name}: {reason}", hint),))
        fresh = self.accepted is None or self.accepted.revision != snapshot.revision
        if fresh:
            if not isinstance(containers, Known):
                return Change("deferred", snapshot.revision)
            if problem := mass_change(resolved, containers.value):
                return self._refuse(snapshot, (problem,))
            if now.mono < self.believed_at and may_be_half_written(resolved, snapshot, containers.value):
                self.problems = resolved.problems
                return Change("deferred", snapshot.revision)
            self.store.accept(snapshot, now)
        self.accepted, self._judged, self.problems = snapshot, snapshot.revision, resolved.problems
        return Change("accepted" if fresh else "same", snapshot.revision, resolved.problems)

    def _refuse(self, snapshot: Snapshot, problems: tuple[Problem, ...]) -> Change:
        self._judged, self.problems = snapshot.revision, in_report_order(problems)
        return Change("refused", snapshot.revision, self.problems)

    def in_force(self, cards: RigFacts, now: Instant) -> Resolved | tuple[Problem, ...] | None:
        """The accepted revision, resolved with the present cards; None when there is none yet, or another process keeps it.

        It stays in force when a rule would refuse it by now: a waiver ended, a card was changed, Steward learned the rule.
        """
        if self.accepted is None:
            return None
        resolved = self._resolve(self.accepted, cards, now).outcome
        if not isinstance(resolved, Resolved):
            resolved = self._resolve(self.accepted, cards, now, held=True).outcome
        if isinstance(resolved, Resolved):
            if self.refusal(resolved.rig.name):
                return None
            self._keep_bindings(resolved)
        return resolved

    def _resolve(self, snapshot: Snapshot, cards: RigFacts, now: Instant, *, held: bool = False) -> _Judgement:
        bindings = self._known_bindings()
        key = (snapshot.revision, held, _shape(cards), tuple(sorted((n, b.text, b.uuids) for n, b in bindings.items())))
        found = self._cache.get(key)
        if found is None or not found.holds(now):
            if len(self._cache) >= _KEPT:
                self._cache.clear()
            outcome = self.resolver.resolve(snapshot, cards, bindings, now.wall, held=held)
            ends = outcome.holds_until if isinstance(outcome, Resolved) else None
            found = self._cache[key] = _Judgement(outcome, now.wall, math.inf if ends is None else ends)
        return found

    def _known_bindings(self) -> dict[str, GpuBinding]:
        if self._bindings is None:
            self._bindings = dict(self.store.bindings())
        return self._bindings

    def _keep_bindings(self, resolved: Resolved) -> None:
        known = self._known_bindings()
        for instance in resolved.instances:
            if instance.binding is not None and known.get(instance.name) != instance.binding:
                self.store.bind_gpus(instance.name, instance.binding)
                known[instance.name] = instance.binding

    def forget(self) -> None:
        """Resolve anew: a secret or a card may have changed outside the files."""
        self._cache.clear()
        self._judged, self._judgement = "", None


def _shape(cards: RigFacts) -> object:
    """What of the rig a resolution depends on; readings such as temperature do not count."""
    if not isinstance(cards.cards, Known):
        return cards.cards.reason
    shapes = tuple(
        (
            *(card.index, card.uuid, card.name, card.profile, card.memory_total, card.foreign_bytes),
            *(card.compute_capability, card.pcie_max_generation, card.pcie_max_width),
        )
        for card in cards.cards.value
    )
    return shapes, cards.nvlink, cards.ram, cards.shm
