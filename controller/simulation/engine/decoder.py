"""The model that is not there: admits requests, paces the tokens of their answers, and keeps the counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from controller.simulation.engine.config import Config
from controller.simulation.engine.counts import Counts, Meter
from controller.simulation.engine.figures import Load, figures
from controller.simulation.engine.life import Life
from controller.simulation.engine.log import Log
from controller.simulation.engine.metrics import Figure
from controller.simulation.engine.request import Refusal, Request
from controller.simulation.engine.script import Script

QUEUE_LIMIT_S: Final = 600.0
POLL_S: Final = 0.05
"""How often a token that is held up looks whether it may go on."""
MADE_UP_PROMPT: Final = 32
"""Tokens in the prompt of a made-up request."""


class Decoder:
    """One engine's work; every method may be called from any thread."""

    def __init__(self, config: Config, life: Life, log: Log) -> None:
        self.config = config
        self.life = life
        self._log = log
        self._counts = Counts()
        self._running = 0
        self._waiting = 0
        self._held_tokens = 0
        self._prefill_ends = 0.0
        self._made_up = 0
        self._owed_tokens = 0.0
        self._owed_requests = 0.0
        self._scraped = Meter(time.monotonic())
        self._reported = Meter(time.monotonic())
        self._throughput: dict[str, float] = {}

    @property
    def slots(self) -> int:
        """How many requests run at once."""
        return self.life.script.concurrency or self.config.slots

    @property
    def busy(self) -> bool:
        """Whether it works on a request."""
        return self.running > 0

    @property
    def running(self) -> int:
        """Requests that run, made-up ones among them."""
        return self._running + min(self.life.script.requests, self.slots)

    @property
    def waiting(self) -> int:
        """Requests that wait for a slot."""
        return self._waiting + max(self.life.script.requests - self.slots, 0)

    @property
    def prefilling_s(self) -> float:
        """How long a prefill will still hold up everything else."""
        return max(self._prefill_ends - time.monotonic(), 0.0)

    @contextmanager
    def slot(self, request: Request, gone: Callable[[], bool]) -> Iterator[Iterator[int]]:
        """Wait for a slot, and hold it until the answer is written: a drain waits for that. Yields the tokens' numbers.

        Raises Refusal after too long a wait, and ConnectionAbortedError where the client is `gone`.
        """
        arrived = time.monotonic()
        self._admit(request, gone)
        try:
            yield self._tokens(request, arrived, gone)
        finally:
            with self.life.changed:
                self._running -= 1
                self._held_tokens -= request.prompt_tokens + request.limit
                self.life.changed.notify_all()

    def _admit(self, request: Request, gone: Callable[[], bool]) -> None:
        ends = time.monotonic() + QUEUE_LIMIT_S
        with self.life.changed:
            self._waiting += 1
            try:
                while self._running >= self.slots:
                    if gone():
                        raise ConnectionAbortedError
                    if time.monotonic() >= ends:
                        raise Refusal(503, "unavailable_error", "the request waited too long for its turn")
                    self.life.changed.wait(1.0)
            finally:
                self._waiting -= 1
            self._running += 1
            self._held_tokens += request.prompt_tokens + request.limit

    def _tokens(self, request: Request, arrived: float, gone: Callable[[], bool]) -> Iterator[int]:
        """The numbers of the tokens of an answer, each at its time."""
        due = self._prefill(request, arrived, gone)
        script = self.life.script
        tokens = 0 if script.answers == "empty" else request.limit
        for number in range(tokens):
            due = self._wait(due, gone)
            script = self.life.script
            with self.life.changed:
                self._counts.decode(1, 1 / script.tps, 1, script.acceptance)
            due += 1 / script.tps
            yield number
        with self.life.changed:
            self._counts.finish(request.cut and tokens > 0, 1 / script.tps)

    def _prefill(self, request: Request, arrived: float, gone: Callable[[], bool]) -> float:
        """Read the prompt; the time at which the first token is due."""
        self._wait(0.0, gone)
        script = self.life.script
        self._log.prefill(script, self.load(), request.prompt_tokens)
        with self.life.changed:
            self._hold(script)
        due = self._wait(time.monotonic() + script.ttft_s, gone)
        with self.life.changed:
            self._counts.prefill(request.prompt_tokens, script.ttft_s, time.monotonic() - arrived)
        return due

    def _wait(self, due: float, gone: Callable[[], bool]) -> float:
        """Sleep until then, or as long as nothing advances; returns when the next wait counts from.

        A hung engine does not notice that a client has gone.
        """
        while True:
            now, hangs = time.monotonic(), self.life.script.hang
            if not hangs and gone():
                raise ConnectionAbortedError
            if hangs or now < self._prefill_ends:
                due = max(due, now + POLL_S if hangs else self._prefill_ends)
                time.sleep(POLL_S)
            elif now < due:
                time.sleep(min(due - now, POLL_S))
            else:
                return due

    def _hold(self, script: Script) -> None:
        """A prefill begins, and holds up everything for as long as the script says."""
        if script.prefill_stall_s:
            self._prefill_ends = max(self._prefill_ends, time.monotonic()) + script.prefill_stall_s

    def make_up(self, elapsed_s: float) -> None:
        """Advance the made-up requests by so many seconds."""
        script = self.life.script
        with self.life.changed:
            begun, self._made_up = self._made_up, min(script.requests, self.slots)
            if self._made_up > begun:
                self._hold(script)
            if not script.hang and not self.prefilling_s:
                self._advance(script, elapsed_s)

    def _advance(self, script: Script, elapsed_s: float) -> None:
        self._owed_tokens += self._made_up * script.tps * elapsed_s
        tokens = int(self._owed_tokens)
        self._owed_requests += tokens / script.answer_tokens
        ended = int(self._owed_requests)
        self._owed_tokens -= tokens
        self._owed_requests -= ended
        steps = min(tokens, max(round(script.tps * elapsed_s), 1))
        self._counts.decode(tokens, 1 / script.tps, steps, script.acceptance)
        self._counts.finish(False, 1 / script.tps, ended)
        if ended:  # each of them makes room for the next one
            self._counts.prefill(MADE_UP_PROMPT, script.ttft_s, script.ttft_s, ended)
            self._hold(script)

    def report(self) -> dict[str, float]:
        """The averages since the last report, in tokens per second."""
        with self.life.changed:
            self._throughput = self._reported.averages(self._counts, time.monotonic())
            self._reported.reset(self._counts, time.monotonic())
            return self._throughput

    def load(self) -> Load:
        """How much it has to do at this moment."""
        script = self.life.script
        made_up = min(script.requests, self.slots) * (MADE_UP_PROMPT + script.answer_tokens // 2)
        return Load(self.running, self.waiting, self._held_tokens + made_up, self.config.context * self.slots)

    def figures(self, always_reset: bool) -> dict[str, Figure]:
        """Everything that a metrics page may show; a look resets the averages where they are to be."""
        script = self.life.script
        with self.life.changed:
            averages = self._scraped.averages(self._counts, time.monotonic())
            if always_reset or script.metrics_reset:
                self._scraped.reset(self._counts, time.monotonic())
            else:
                averages["generation_throughput"] = self._throughput.get("generation_throughput", 0.0)
            return {"started_at": self.life.started_at, **averages, **figures(self._counts, self.load(), script.acceptance)}
