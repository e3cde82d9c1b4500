"""Does at each moment what the script says for it: log lines, listening, getting ready, made-up work, an end by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NoReturn

from controller.simulation.engine.decoder import Decoder
from controller.simulation.engine.life import Life
from controller.simulation.engine.log import Log
from controller.simulation.engine.manners import Manner
from controller.simulation.engine.output import leave
from controller.simulation.engine.script import Script

TICK_S: Final = 0.05
"""How often the made-up requests advance."""
LONGEST_TICK_S: Final = 1.0
"""What counts of a tick that took longer: the process was frozen, and made nothing meanwhile."""
LONGEST_S: Final = 60.0


class Timeline:
    """One thread's work. It sleeps until the next moment, or until the script changes."""

    def __init__(self, life: Life, log: Log, decoder: Decoder, manner: Manner, listen: Callable[[], None]) -> None:
        self._life, self._log, self._decoder, self._manner = life, log, decoder, manner
        self._listen: Callable[[], None] | None = listen
        self._made_up_at: float | None = None
        self._reports_at = 0.0

    def run(self) -> NoReturn:
        """Until the process ends."""
        while True:
            with self._life.changed:
                script, age = self._life.script, self._life.age
            moments = (*self._boot(script, age), *self._work(script, age), self._life.next_change, age + LONGEST_S)
            with self._life.changed:
                pause_s = min(moment for moment in moments if moment > age) - self._life.age
                if script == self._life.script and pause_s > 0:
                    self._life.changed.wait(pause_s)

    def _boot(self, script: Script, age: float) -> tuple[float, ...]:
        """Log, end, listen, get ready; the moments at which there is more of it to do."""
        ends_s = math.inf if script.exits_s is None else script.exits_s
        next_piece = self._log.say(script, min(age, ends_s))
        if age >= ends_s:
            leave(script.exit_code, self._log.last(script.exit_log))
        ready_s = script.load_s if script.stall_s is None else math.inf
        listens_s = self._listens_s(script, ready_s)
        if self._life.loading and age >= ready_s:
            self._life.loading = False
            self._begin_to_listen()
            self._log.ready(script)
        elif age >= listens_s:
            self._begin_to_listen()
        return (next_piece or math.inf, ends_s, ready_s, listens_s)

    def _listens_s(self, script: Script, ready_s: float) -> float:
        share = {"refused": 1.0, "503": 0.0}.get(script.load_phase or "", self._manner.listens_at)
        moment = ready_s if share == 1 else share * script.load_s
        return math.inf if script.stall_s is not None and moment > script.stall_s else moment

    def _begin_to_listen(self) -> None:
        if self._listen:
            self._listen()
        self._listen = None

    def _work(self, script: Script, age: float) -> tuple[float, ...]:
        """Advance the made-up requests and report; the next moments for it."""
        if self._life.loading:
            return ()
        if self._made_up_at is not None:
            self._decoder.make_up(min(age - self._made_up_at, LONGEST_TICK_S))
        self._made_up_at = age if script.requests else None
        if self._manner.report_s is not None and age >= self._reports_at:
            self._log.report(script, self._decoder.load(), self._decoder.report())
            self._reports_at = age + self._manner.report_s
        return (age + TICK_S if script.requests else math.inf, self._reports_at)
