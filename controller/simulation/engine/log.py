"""The log of an engine: the lines of its script, or the phrases of its dialect at their moments of the load."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from controller.simulation.engine.config import Config
from controller.simulation.engine.figures import Load
from controller.simulation.engine.output import write
from controller.simulation.engine.phrases import PREFILL, READY, REPORT, loading
from controller.simulation.engine.script import Line, Script

Piece = tuple[float, str, bool]
"""Its moment, its text, and whether it goes to stderr."""
_REPORTED: Final = ("prompt_throughput", "generation_throughput")


class Log:
    """One engine's log. A script's own lines replace everything that it would print by itself."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lines: tuple[Line, ...] | None = config.script.log
        self._said = 0
        self._unfinished = False
        self._was_active = False

    def say(self, script: Script, until_s: float) -> float | None:
        """Print what is due by this age; returns the moment of the next piece, None when there is none."""
        pieces = self._pieces(script)
        if script.log != self._lines:
            self._lines, self._said = script.log, sum(at_s < until_s for at_s, _, _ in pieces)
        for at_s, text, stderr in pieces[self._said :]:
            if at_s > until_s:
                return at_s
            self._said += 1
            self._unfinished = not text.endswith("\n")
            write(text, stderr=stderr)
        return None

    def _pieces(self, script: Script) -> list[Piece]:
        if script.log is not None:
            in_order = sorted(script.log, key=lambda line: line.at_s)
            pieces = [(line.at_s, f"{line.text}\n", line.stderr) for line in in_order]
        else:
            phrases = loading(self._config.dialect, script.metrics)
            pieces = [(share * script.load_s, self._filled(text), False) for share, text in phrases]
        return pieces if script.stall_s is None else [piece for piece in pieces if piece[0] < script.stall_s]

    def ready(self, script: Script) -> None:
        """It serves."""
        if script.log is None:
            for text in READY[self._config.dialect]:
                write(self._filled(text))

    def prefill(self, script: Script, load: Load, tokens: int) -> None:
        """A request begins with a prompt of so many tokens."""
        if script.log is None and self._config.dialect in PREFILL:
            write(self._filled(PREFILL[self._config.dialect], load, {"new": tokens}))

    def report(self, script: Script, load: Load, averages: Mapping[str, float]) -> None:
        """The throughput of the last interval, unless it was idle in it and in the one before."""
        was_active, self._was_active = self._was_active, any(averages[name] for name in _REPORTED)
        if script.log is None and self._config.dialect in REPORT and (self._was_active or was_active):
            write(self._filled(REPORT[self._config.dialect], load, averages))

    def last(self, line: str) -> str:
        """A last line, which begins on a line of its own."""
        return f"\n{line}" if line and self._unfinished else line

    def _filled(self, text: str, load: Load | None = None, more: Mapping[str, float] | None = None) -> str:
        config = self._config
        found = load or Load(0, 0, 0, config.context * config.slots)
        return text.format(
            host=config.host,
            port=config.port,
            model=f"/models/{config.names[0]}",
            context=config.context,
            slots=config.slots,
            pool=config.context * config.slots,
            now=time.strftime("%m-%d %H:%M:%S"),
            running=found.running,
            waiting=found.waiting,
            tokens=found.held_tokens,
            usage=found.kv_usage,
            percent=100 * found.kv_usage,
            **(more or {}),
        )
