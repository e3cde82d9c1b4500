"""Failures to come of a simulated container engine, put in line by a test or a story."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from controller.errors import StewardError


@dataclass(frozen=True, slots=True)
class Fault:
    """What the next `times` calls of `call` meet whose subject, a container's name or an image reference, contains `subject`.

    `error` is raised before the effect, or with `after` once it has taken place: a lost reply. The answer, be it the error,
    comes `takes_s` seconds late; with `error` None the call is only slow. With `stale` a `list` answers what it answered last.
    """

    call: str
    error: StewardError | None = None
    subject: str = ""
    after: bool = False
    times: int = 1
    takes_s: float = 0.0
    stale: bool = False


def take(faults: deque[Fault], call: str, subject: str) -> Fault | None:
    """The first fault that this call meets, with one of its times used up."""
    for place, fault in enumerate(faults):
        if fault.call == call and fault.subject in subject:
            if fault.times > 1:
                faults[place] = replace(fault, times=fault.times - 1)
            else:
                del faults[place]
            return fault
    return None
