"""Speaking to the controller that runs, if one does."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING

from controller.errors import EnvironmentFault, StewardError
from controller.model.events import Command, Reply, Verb
from controller.settings import Settings

if TYPE_CHECKING:
    from observability.client import SocketClient


def client_of(settings: Settings) -> SocketClient | None:
    """A client of the running controller of this state folder, or None when there is none."""
    from observability.client import SocketClient

    client = SocketClient(settings.socket)
    return client if client.alive() else None


def controller_needed(settings: Settings) -> SocketClient:
    """A client of the controller that a simulated rig lives in; raises EnvironmentFault where none runs."""
    client = client_of(settings)
    if client is None:
        raise EnvironmentFault(
            f"no controller runs in {settings.state}, and a simulated rig lives in its controller's process; "
            f"`steward run --rig {settings.rig}` starts one"
        )
    return client


def who() -> str:
    """The person behind the command, for the journal."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def command_of(
    verb: Verb, instances: tuple[str, ...] = (), gpu: str | None = None, for_s: float | None = None, reason: str = ""
) -> Command:
    """A command in the name of whoever types it."""
    return Command(verb, instances, gpu, for_s, reason, who())


def taken(reply: Reply) -> str:
    """The sentence of a command that was taken; raises StewardError for one that was not."""
    if not reply.ok:
        raise StewardError(reply.message)
    return reply.message
