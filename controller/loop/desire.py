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


@dataclass(frozen=True, slots=True)
class Change:
    """What one look at the source brought: `accepted`, `refused` with its problems, `deferred`, or `same`."""

    kind: str
    revision: str = ""
    problems: tuple[Problem, ...] = ()


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
    _has_read: bool = False
    _since: float = -math.inf
    """When (monotonic) the newest snapshot was first read; what this process found when it began counts as old."""
    _cache: dict[tuple[object, ...], Resolved | tuple[Problem, ...]] = field(default_factory=dict)
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

    def has_news(self) -> bool:
        """Whether a revision was read that has not been judged yet."""
        return self.source_ok and self.snapshot is not None and self.snapshot.revision != self._judged

    @property
    def believed_at(self) -> float:
        """From when on (monotonic) the newest snapshot is judged even if it looks half-written."""
        return self._since + UNFINISHED_S

    def judge(self, cards: RigFacts, containers: Reading[tuple[Container, ...]], now: Instant) -> Change:
        """Accept or refuse the newest snapshot, once for each revision."""
        snapshot = self.snapshot
        if snapshot is None or not self.has_news():
            return Change("same")
        resolved = self._resolve(snapshot, cards)
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

    def in_force(self, cards: RigFacts) -> Resolved | tuple[Problem, ...] | None:
        """The accepted revision, resolved with the present cards; None when there is none yet, or another process keeps it."""
        if self.accepted is None:
            return None
        resolved = self._resolve(self.accepted, cards)
        if isinstance(resolved, Resolved):
            if self.refusal(resolved.rig.name):
                return None
            self._keep_bindings(resolved)
        return resolved

    def _resolve(self, snapshot: Snapshot, cards: RigFacts) -> Resolved | tuple[Problem, ...]:
        bindings = self._known_bindings()
        key = (snapshot.revision, _shape(cards), tuple(sorted((n, b.text, b.uuids) for n, b in bindings.items())))
        if key not in self._cache:
            if len(self._cache) >= 4:
                self._cache.clear()
            self._cache[key] = self.resolver.resolve(snapshot, cards, bindings)
        return self._cache[key]

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
        self._judged = ""


def _shape(cards: RigFacts) -> object:
    """What of the cards a resolution depends on; readings such as temperature do not count."""
    if not isinstance(cards.cards, Known):
        return cards.cards.reason
    return tuple((c.index, c.uuid, c.name, c.profile, c.memory_total) for c in cards.cards.value), cards.nvlink
