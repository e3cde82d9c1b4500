"""Processes that are only scripts on a clock: no threads, no time of their own. Whoever looks sees them where the clock is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from controller.ports import Clock
from controller.simulation.engine.config import Config, ConfigError, configure
from controller.simulation.engine.manners import MANNERS
from controller.simulation.engine.script import KILLED, TERMINATED, Script
from controller.simulation.life import Life
from controller.simulation.printing import printing
from controller.simulation.process import End, Order
from controller.simulation.work import Work

_FIRST_PID: Final = 10_000
_WRONG_USAGE: Final = 2
_TICK: Final = 1e-6
"""Moments nearer than this are the same: sums of seconds are not exact."""


class SpendingClock(Clock, Protocol):
    """A clock on which a call can take time."""

    def spend(self, seconds: float) -> None:
        """Let the call under way take this much longer."""
        ...


@dataclass(frozen=True, slots=True)
class _Ending:
    """At which age a run ends and how."""

    age: float
    code: int
    oom: bool = False
    log: str = ""


class ScriptedProcess:
    """One run. Its own clock stands still while it is paused: what it would have done meanwhile it does afterwards."""

    def __init__(self, clock: SpendingClock, order: Order, pid: int) -> None:
        """Begin now; an engine that does not understand its flags says so and ends at once."""
        now = clock.now()
        self.pid = pid
        self.config = _configured(order)
        self.life = Life(self.config.script, printing(self.config, now.wall))
        self.answered = Work()
        """The work on requests that somebody really made."""
        self.stalls: list[tuple[float, float]] = []
        """From and until which age nothing advanced, because of a prefill."""
        self.draining = False
        """Whether it takes no more requests, because of TERM."""
        self._clock = clock
        self._began = now.mono
        self._paused_at: float | None = None
        self._told_to_end: _Ending | None = None
        self._end = self._its_end()

    @property
    def script(self) -> Script:
        """As it holds for this run."""
        return self.life.script

    def age(self) -> float:
        """Seconds of its own clock."""
        now = self._clock.now().mono if self._paused_at is None else self._paused_at
        return now - self._began

    def ends_at(self) -> float | None:
        """The moment (monotonic seconds) at which it will have ended, as things stand; None for never."""
        return None if self._end is None or self._paused_at is not None else self._began + self._end.age

    def ended(self) -> End | None:
        """How it ended, None while it runs."""
        end = self._reached_end()
        return None if end is None else End(end.code, self._clock.now().wall - (self.age() - end.age), end.oom)

    def log(self) -> tuple[str, ...]:
        """All lines that it has written by now."""
        end = self._reached_end()
        if end is None:
            return self.life.lines(self.age())
        return (*self.life.lines(end.age, over=True), *((end.log,) if end.log else ()))

    def stop(self, term_s: float) -> None:
        """TERM and, `term_s` later, KILL."""
        if self.ended() is not None:
            return
        self.resume()
        age, script = self.age(), self.life.at(self.age())
        loaded = age >= self.life.ready_at
        code, line = (0, "stopped") if loaded else (TERMINATED, "stopped while loading")
        ending = _Ending(
            age + script.term_s + (self._drain(age, script) if loaded else 0.0),
            code if script.term_code is None else script.term_code,
            log="" if script.log is not None else line,
        )
        if script.ignore_term or ending.age - age > term_s:
            ending = _Ending(age + term_s, KILLED)
        self.draining = loaded and not script.ignore_term
        self._clock.spend(self._tell_to_end(ending).age - age)

    def kill(self) -> None:
        """KILL."""
        self.resume()
        if self.ended() is None:
            self._tell_to_end(_Ending(self.age(), KILLED))

    def pause(self) -> None:
        """Freeze it."""
        if self._paused_at is None and self.ended() is None:
            self._paused_at = self._clock.now().mono

    def resume(self) -> None:
        """Let it run on."""
        if self._paused_at is not None:
            self._began += self._clock.now().mono - self._paused_at
            self._paused_at = None

    def change(self, script: Script) -> None:
        """From now on it does this."""
        if self.ended() is None:
            self.life.change(self.age(), script)
            self._end = self._its_end()

    def _tell_to_end(self, ending: _Ending) -> _Ending:
        if self._told_to_end is None or ending.age < self._told_to_end.age:
            self._told_to_end = ending
        self._end = self._its_end()
        return self._end or ending

    def _its_end(self) -> _Ending | None:
        """Its own end, or the one that it was told, whichever comes first."""
        age, told = self.life.ends_at, self._told_to_end
        if math.isinf(age) or (told is not None and told.age < age):
            return told
        script = self.life.at(age)
        return _Ending(age, script.exit_code, script.oom, script.exit_log)

    def _reached_end(self) -> _Ending | None:
        """Its end, if it is over."""
        if self._end is None or self._paused_at is not None or self._end.age > self.age() + _TICK:
            return None
        return self._end

    def _drain(self, age: float, script: Script) -> float:
        """How long its requests hold up the end after TERM: until none is left, and no longer than it lets them."""
        limit = script.drain_s if script.drain_s is not None else MANNERS[self.config.dialect].drain_s
        return min(limit, self.life.idle_from(age) - age)


def _configured(order: Order) -> Config:
    """The engine that was ordered; one that cannot be prints why and ends with 2, as a program with a wrong flag does."""
    try:
        return configure(order.argv, order.env, dialect=order.dialect.value, base=order.script)
    except ConfigError as error:
        return Config(script=Script(exits_s=0.0, exit_code=_WRONG_USAGE, log=(), exit_log=f"error: {error}"))


class ScriptedProcesses:
    """Implements Processes on a clock that somebody moves."""

    def __init__(self, clock: SpendingClock) -> None:
        """None yet."""
        self._clock = clock
        self._running: list[ScriptedProcess] = []
        self._pids = itertools.count(_FIRST_PID)

    def start(self, order: Order) -> ScriptedProcess:
        """Begin a run."""
        process = ScriptedProcess(self._clock, order, next(self._pids))
        self._running.append(process)
        return process

    def wait(self, stopping: Callable[[], bool]) -> bool:  # noqa: ARG002 - nothing happens while somebody waits
        """Time does not pass by waiting here."""
        return False

    def spend(self, seconds: float) -> None:
        """Let the call take this much longer."""
        self._clock.spend(seconds)

    def next_end(self) -> float | None:
        """The moment (monotonic seconds) at which the next run ends, as things stand; None while none will."""
        self._running = [process for process in self._running if process.ended() is None]
        return min((at for process in self._running if (at := process.ends_at()) is not None), default=None)

    def close(self) -> None:
        """There is nothing to end."""
