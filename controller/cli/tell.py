"""Verbs that change what the rig is held to: told to the running controller, or carried out by a short-lived one."""

from __future__ import annotations

from controller.cli.output import has_color, print_text, width
from controller.cli.talk import client_of, taken
from controller.model.events import Command
from controller.model.status import Status
from controller.settings import Settings

CARRY_OUT_S = 900.0
"""At most this long for a verb without a running controller: a drain and a stop of each instance."""


def tell(command: Command, settings: Settings) -> int:
    """Carry out one command; 0 when it was taken."""
    client = client_of(settings)
    if client is not None:
        print_text(taken(client.command(command)))
        return 0
    return _by_hand(command, settings)


def _by_hand(command: Command, settings: Settings) -> int:
    """Without a controller: become it for as long as it takes."""
    from observability.text import status_text

    from controller.app.live import controller_of
    from controller.loop.run import is_settled, is_stuck
    from controller.loop.verbs import carry_out

    with controller_of(settings, log=True) as controller:
        loop, clock = controller.runner.loop, controller.real.clock
        loop.acting = False
        controller.runner.once(frozenset({"start"}))
        loop.acting = True
        print_text(taken(carry_out(command, loop, clock.now())))
        only, ends = frozenset(command.instances), clock.now().mono + CARRY_OUT_S
        loop.only = only

        def done(status: Status) -> bool:
            return is_settled(status, only) or is_stuck(status)

        status = controller.runner.until(done, lambda: clock.now().mono >= ends)
    if status is None:
        return 1
    print_text(status_text(status, width=width(), color=has_color(), verbose=False))
    return 0 if is_settled(status, only) else 1
