"""What a simulated engine does, as data: the one vocabulary of the engines in memory, the engine processes, the Docker test
image and the `simulation:` block of a rig file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

TERMINATED: Final = 143
KILLED: Final = 137
LOAD_PHASES: Final = ("refused", "503")
ANSWERS: Final = ("words", "garbage", "empty", "thinking")
HEALTH: Final = ("503", "500", "silent")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log, so many seconds after the start."""

    text: str
    at_s: float = 0.0
    stderr: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """From `at_s` seconds after the start on, these fields of the script have other values."""

    at_s: float
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Script:
    """The life of one run. `_s` are seconds, after its start where it is a moment; None leaves a matter to the dialect."""

    load_s: float = 0.0
    """How long it loads before it serves."""
    load_phase: str | None = None
    """What a client meets while it loads: `refused` or `503`; None: what its dialect answers."""
    stall_s: float | None = None
    """From this moment of the load on it says nothing more and never gets ready; None: it gets ready."""
    log: tuple[Line, ...] | None = None
    """All that it prints; None: its dialect's own phrases, spread over the load."""
    refuses: str = ""
    """The container engine's sentence when it cannot be started at all; empty: it can be."""

    exits_s: float | None = None
    """When it ends by itself, None for never; before `load_s` that is a failed boot."""
    exit_code: int = 1
    """With which code then."""
    exit_log: str = ""
    """Its last line then."""
    oom: bool = False
    """Whether the container engine reports that the kernel killed it for memory."""

    ignore_term: bool = False
    """TERM does nothing; only KILL ends it."""
    term_s: float = 0.0
    """How long it takes to end after TERM, once it has drained."""
    term_code: int | None = None
    """None: 0 while it serves, 143 while it loads."""
    drain_s: float | None = None
    """How long running requests may go on after TERM; None: as its dialect does."""

    tps: float = 100.0
    """Tokens per second of one request."""
    ttft_s: float = 0.02
    """From a request to its first token."""
    prefill_stall_s: float = 0.0
    """Before the first token of a request, during which nothing at all advances."""
    answer_tokens: int = 256
    """An answer ends here with `stop`, or before with `length` where the request allows fewer."""
    concurrency: int | None = None
    """Requests that run at once; more wait. None: as many as its flags say."""
    requests: int = 0
    """Made-up requests that it always works on besides the real ones."""
    answers: str = "words"
    """`words`, `garbage` (exclamation marks), `empty` (a finish without a token) or `thinking` (reasoning and no content)."""
    serves: str | None = None
    """A name that it serves instead of the wanted ones; None: those."""
    hang: bool = False
    """Health says 200 and nothing is ever decoded."""
    health: str | None = None
    """What health answers whatever the state is: `503`, `500` or `silent` (no answer at all); None: how it is."""
    busy_503: bool = False
    """Health says 503 while it works on a request."""

    metrics: str | None = None
    """The version whose metric names it exports, such as `0.8`, or `none` for no metrics; None: the newest."""
    metrics_reset: bool = False
    """Every scrape resets the averages that its gauges show."""
    acceptance: float | None = None
    """The share of draft tokens that are accepted; None: it has no drafter."""

    vram_mib: int | None = None
    """Held on each of its cards once it is loaded, growing with the load; None: what the simulated rig gives it."""
    growth_mib_per_min: float = 0.0
    """From the end of the load on."""
    release_s: float = 0.0
    """How long its memory takes to come back after its end, in three steps."""
    residue_mib: int = 0
    """What stays on each card after its end, held by a process that is nobody's."""

    changes: tuple[Change, ...] = ()
    """From when on which of these fields have other values."""

    def at(self, age_s: float) -> Script:
        """The script with every change that has come by this age."""
        script = self
        for change in sorted(self.changes, key=lambda change: change.at_s):
            if change.at_s <= age_s:
                script = replace(script, **change.fields)
        return script
