"""A call that may never return, asked with a deadline: drivers and dead network mounts hang inside the kernel.

Such a thread cannot be killed. It is left alone, and until it comes back the same question is not asked again, so that a sick
device costs one thread and not one more with every pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

T = TypeVar("T")


class NoAnswer(Exception):
    """The call did not return within its time, or an earlier one still has not."""


class BoundedCall(Generic[T]):
    """One question with one deadline; callers that come while it is asked share its answer."""

    def __init__(self, work: Callable[[], T], seconds: float, name: str) -> None:
        """`name` is the thread's, for people who look at the process."""
        self._work = work
        self._seconds = seconds
        self._name = name
        self._lock = threading.Lock()
        self._asked: Future[T] | None = None
        self._overdue: Future[T] | None = None

    def __call__(self) -> T:
        """The answer, or whatever the work raised; NoAnswer after the deadline, and at once while an overdue call hangs."""
        asked = self._join()
        if not wait((asked,), self._seconds).done:
            with self._lock:
                self._overdue = asked
            raise NoAnswer(f"did not answer in {self._seconds:g} s")
        return asked.result()

    def _join(self) -> Future[T]:
        with self._lock:
            if self._asked is not None and not self._asked.done():
                if self._asked is self._overdue:
                    raise NoAnswer(f"has not answered for more than {self._seconds:g} s")
                return self._asked
            self._asked = Future()
            threading.Thread(target=self._run, args=(self._asked,), name=self._name, daemon=True).start()
            return self._asked

    def _run(self, answer: Future[T]) -> None:
        try:
            value = self._work()
        except BaseException as error:  # noqa: BLE001 - the thread's boundary: whoever waits gets it
            answer.set_exception(error)
        else:
            answer.set_result(value)
