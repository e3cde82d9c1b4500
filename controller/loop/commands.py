"""What people ask of the running loop: handed over by the HTTP thread, answered by the next pass."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.model.events import Command, Reply
from controller.ports import Wakeups


@dataclass(slots=True)
class Pending:
    """One command on its way; `answer` may be called once."""

    command: Command
    _done: threading.Event = field(default_factory=threading.Event)
    _reply: Reply | None = None

    def answer(self, reply: Reply) -> None:
        """Let the waiting thread go on."""
        self._reply = reply
        self._done.set()

    def wait(self, timeout_s: float) -> Reply:
        """The answer, or that there was none in time."""
        if self._done.wait(timeout_s) and self._reply is not None:
            return self._reply
        return Reply(False, f"the loop did not answer within {timeout_s:.0f} s; the command may still be carried out")


class CommandQueue:
    """Implements the port Commands."""

    def __init__(self, wakeups: Wakeups, bound: int, timeout_s: float) -> None:
        """At most `bound` commands wait; a caller waits at most `timeout_s` seconds."""
        self._wakeups = wakeups
        self._timeout_s = timeout_s
        self._queue: queue.Queue[Pending] = queue.Queue(bound)

    def submit(self, command: Command) -> Reply:
        """Hand over and wait."""
        pending = Pending(command)
        try:
            self._queue.put_nowait(pending)
        except queue.Full:
            return Reply(False, "too many commands are waiting; try again")
        self._wakeups.wake("command")
        return pending.wait(self._timeout_s)

    def answer_all(self, handle: Callable[[Command], Reply]) -> int:
        """Carry out everything that waits; how many there were."""
        count = 0
        while True:
            try:
                pending = self._queue.get_nowait()
            except queue.Empty:
                return count
            pending.answer(handle(pending.command))
            count += 1
