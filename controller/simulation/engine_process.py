"""One simulated engine as a process: what it has printed, how it ended, and what it is told on the way."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Final

from controller.errors import EnvironmentFault
from controller.ports import Clock
from controller.simulation.engine import wire
from controller.simulation.engine.script import Script
from controller.simulation.process import End
from controller.simulation.run_log import RunLog

KILL_S: Final = 10.0
"""How long the kernel may take for a KILL."""
TELL_S: Final = 10.0
"""An engine that has not read what it is told by then is broken."""
_BLINK_S: Final = 0.005
_BLINKS: Final = 400
_PIECE: Final = 65536
_SIGNAL_CODE: Final = 128
_NOT_UNDERSTOOD: Final = 2


class EngineProcess:
    """One engine that runs; a thread reads what it prints and sees its end."""

    def __init__(self, program: subprocess.Popen[bytes], script: Script, clock: Clock, ended: Callable[[], None]) -> None:
        """Watch a program that has just begun; `ended` is called from the watching thread."""
        self.pid = program.pid
        self.script = script
        self._program = program
        self._clock = clock
        self._began = clock.now().wall
        self._tell_ended = ended
        self._log = RunLog()
        self._end: End | None = None
        self._over = threading.Event()
        self._ordered_to_end = False
        self._pipe = threading.Lock()
        self._paused = False
        self._held: Script | None = None
        threading.Thread(target=self._watch, name=f"engine {self.pid}", daemon=True).start()

    def ended(self) -> End | None:
        """How it ended, None while it runs."""
        return self._end

    def log(self) -> tuple[str, ...]:
        """The last lines that it has written by now, both streams in order."""
        return self._log.lines()

    def stop(self, term_s: float) -> None:
        """TERM and, `term_s` later, KILL; a frozen one is let run on, as Docker does it."""
        self.terminate()
        self.outlast(term_s)

    def terminate(self) -> None:
        """TERM alone."""
        self._ordered_to_end = True
        self._send(signal.SIGTERM, signal.SIGCONT)

    def outlast(self, seconds: float) -> None:
        """Wait until it has ended, with KILL after so many seconds."""
        if not self._over.wait(max(0.0, seconds)):
            self.kill()

    def kill(self) -> None:
        """KILL, and wait until it is gone."""
        self._ordered_to_end = True
        self._send(signal.SIGKILL)
        self._over.wait(KILL_S)

    def pause(self) -> None:
        """Freeze it, and wait until it stands still: one that stops only after this process has died would never be woken."""
        self._paused = True
        self._send(signal.SIGSTOP)
        for _ in range(_BLINKS):
            if self._frozen() or self._over.wait(_BLINK_S):
                return

    def resume(self) -> None:
        """Let it run on, with what it was told meanwhile."""
        self._paused = False
        self._send(signal.SIGCONT)
        held, self._held = self._held, None
        if held is not None:
            self.change(held)

    def change(self, script: Script) -> None:
        """From now on it does this, when it is frozen from its resumption on; raises EnvironmentFault when it does not hear."""
        self.script = script
        if self._paused:
            self._held = script  # nobody reads the pipe, which holds only so much
        else:
            self.tell(wire.script_to_json(script))

    def tell(self, line: str) -> None:
        """Write one line to it; one that has ended hears nothing, one that does not read is ended with an EnvironmentFault."""
        with self._pipe:
            pipe = self._program.stdin
            told = pipe is None or pipe.closed or _write(pipe.fileno(), line.encode() + b"\n")
        if not told:
            self.kill()  # half a line is no order
            raise EnvironmentFault(f"the engine with process id {self.pid} has read nothing for {TELL_S:g} s")

    def _send(self, *signals: signal.Signals) -> None:
        for number in signals:
            self._program.send_signal(number)

    def _frozen(self) -> bool:
        try:
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return False

    def _watch(self) -> None:
        assert self._program.stdout is not None
        with self._program.stdout as printed:
            while piece := printed.read(_PIECE):
                self._log.feed(piece)
        code = self._program.wait()
        self._log.end()
        with self._pipe:
            if self._program.stdin is not None:
                self._program.stdin.close()
        self._end = self._how(code)
        self._over.set()
        self._tell_ended()

    def _how(self, code: int) -> End:
        """The end as a container engine tells it."""
        at = self._clock.now().wall
        script = self.script.at(at - self._began)
        by_itself = script.exits_s is not None and not self._ordered_to_end
        return End(code if code >= 0 else _SIGNAL_CODE - code, at, oom=script.oom and by_itself)


class RefusedProcess:
    """A program that could not make sense of its command line: it has said so and is over."""

    def __init__(self, script: Script, sentence: str, clock: Clock) -> None:
        """It never gets a pid of its own."""
        self.pid = 0
        self.script = script
        self._sentence = sentence
        self._clock = clock
        self._end: End | None = None

    def ended(self) -> End:
        """At the first look at it, as programs do after such a message."""
        self._end = self._end or End(_NOT_UNDERSTOOD, self._clock.now().wall)
        return self._end

    def log(self) -> tuple[str, ...]:
        """The message."""
        return (self._sentence,)

    def stop(self, term_s: float) -> None:
        """Nothing runs."""

    def kill(self) -> None:
        """Nothing runs."""

    def pause(self) -> None:
        """Nothing runs."""

    def resume(self) -> None:
        """Nothing runs."""

    def change(self, script: Script) -> None:
        """Nothing runs."""


def _write(pipe: int, data: bytes) -> bool:
    """Whether all of it was written, as long as somebody reads, in bounded time."""
    os.set_blocking(pipe, False)
    room = select.poll()
    room.register(pipe, select.POLLOUT)
    while data and room.poll(TELL_S * 1000):
        try:
            data = data[os.write(pipe, data) :]
        except BlockingIOError:
            continue
        except BrokenPipeError:
            return True
    return not data
