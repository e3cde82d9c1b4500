"""Every exception that Steward raises on purpose.

    StewardError
    ├── UsageError             the command line asks for something that does not exist (exit 64)
    ├── EstateInvalid          the files cannot be accepted; carries every Problem (exit 1)
    ├── LockHeld               another Steward writes to this rig (exit 3)
    ├── StoreDamaged           the state database cannot be read; it is set aside, never guessed at
    ├── NotFound               the named thing is gone, which an observation will confirm
    └── EnvironmentFault       the surroundings are at fault: wait and look again, never a mark against the spec (exit 3)
        ├── EngineUnreachable  the Docker engine does not answer in time, or the answer was lost
        ├── NameTaken          another container holds the wanted name (409)
        ├── PortTaken          another process holds the wanted host port
        ├── GpuUnavailable     the engine has no driver for the requested cards, or a card is lost
        ├── PullFailed         the image could not be fetched
        └── OutOfSpace         the disk of the engine or of the state is full
    SpecFault                  the engine refuses what the spec asks (a bad mount, an unknown option): also a StewardError

Adapters translate their SDK's errors into these; nothing above an adapter knows an SDK's exceptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controller.model.problem import Problem


class StewardError(Exception):
    """The root: catching it catches everything that Steward foresaw."""


class UsageError(StewardError):
    """The command line names something that does not exist or combines what cannot go together."""


class EstateInvalid(StewardError):
    """The desired state cannot be accepted; `problems` holds every reason at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Keep the problems in report order."""
        super().__init__(f"{len(problems)} problem(s) in the estate")
        self.problems = tuple(problems)


class LockHeld(StewardError):
    """Another process is the writer of this rig."""


class StoreDamaged(StewardError):
    """The state database fails its own integrity check."""


class NotFound(StewardError):
    """The container or image named by id is not there any more."""


class SpecFault(StewardError):
    """The engine refuses the request as it is written; asking again cannot help."""


class EnvironmentFault(StewardError):
    """Something around the rig is in the way; it is waited for and never held against a spec."""


class EngineUnreachable(EnvironmentFault):
    """No answer from the Docker engine within the bound, so the effect of the call is unknown."""


class NameTaken(EnvironmentFault):
    """The container name is in use; only a new observation tells by whom."""


class PortTaken(EnvironmentFault):
    """The host port cannot be bound because something listens there."""


class GpuUnavailable(EnvironmentFault):
    """The engine cannot hand out the requested card."""


class PullFailed(EnvironmentFault):
    """The registry did not deliver the image: absent, refused, limited, cut or too slow."""


class OutOfSpace(EnvironmentFault):
    """No space left where the engine or Steward has to write."""
