"""What a simulated container does once it is started: data, so that a test or a demo reads like its story."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from controller.model.observed import ServePhase

TERMINATED: Final = 143
KILLED: Final = 137


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log, so many seconds after the start."""

    text: str
    at_s: float = 0.0
    stderr: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """The life of one run, in seconds after its start.

    It ends by itself at `exits_s` (None: never) with `exit_code`; TERM ends it after `term_s` with `term_code`, unless KILL
    comes first. `refuses` is the engine's sentence when it cannot be started at all. `phases` are what a probe meets from when
    on; `requests` is how many it works on, from when on; `vram_bytes` is taken on each of its cards while it runs.
    """

    exits_s: float | None = None
    exit_code: int = 0
    oom: bool = False
    term_s: float = 0.0
    term_code: int = TERMINATED
    refuses: str = ""
    log: tuple[Line, ...] = ()
    phases: tuple[tuple[float, ServePhase], ...] = ((0.0, ServePhase.LOADING), (5.0, ServePhase.SERVING))
    served: bool = True
    completes: bool = True
    tokens_per_s: float = 30.0
    requests: tuple[tuple[float, int], ...] = ()
    vram_bytes: int = 0

    def phase(self, age_s: float) -> ServePhase:
        """What a probe meets at this age."""
        reached = [phase for begin, phase in self.phases if begin <= age_s]
        return reached[-1] if reached else ServePhase.REFUSED

    def running_requests(self, age_s: float) -> int:
        """How many requests it works on at this age."""
        reached = [count for begin, count in self.requests if begin <= age_s]
        return reached[-1] if reached else 0

    def generated(self, age_s: float) -> float:
        """Tokens made by this age: only while it works on a request."""
        ends = [*(begin for begin, _ in self.requests[1:]), age_s]
        spans = zip(self.requests, ends, strict=False)
        return sum(max(0.0, min(end, age_s) - begin) * self.tokens_per_s for (begin, count), end in spans if count)
