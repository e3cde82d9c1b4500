"""Verbs that change what the rig is held to: told to the running controller, or carried out by a short-lived one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from controller.app.files import is_simulated
from controller.app.naming import check_names
from controller.cli.output import print_text, tell
from controller.cli.talk import client_of, controller_needed, taken
from controller.cli.waiting import observing
from controller.errors import EstateInvalid
from controller.model.events import Command, Verb
from controller.model.problem import has_errors
from controller.model.status import Status
from controller.settings import Settings
from observability.client import SocketClient

CARRY_OUT_S: Final = 900.0
"""At most this long for a verb without a running controller: a drain and a stop of each instance."""
EMPTY: Final = "the estate in force has no instance"


def carry(command: Command, settings: Settings) -> int:
    """Carry out one command; 0 when it was taken (and, without a controller, done)."""
    client = controller_needed(settings) if is_simulated(settings.rig) else client_of(settings)
    return _by_hand(command, settings) if client is None else _by_controller(command, client)


def _by_controller(command: Command, client: SocketClient) -> int:
    status = client.get("/api/v1/status")
    names = [instance["name"] for instance in status["instances"]]
    check_names(command.instances, names)
    if command.verb is Verb.DOWN and not names:
        print_text(EMPTY)
        return 0
    print_text(taken(client.command(command)))
    if status["mode"] != "auto":
        tell(f"steward: {observing(status['mode'])}")
    return 0


def _by_hand(command: Command, settings: Settings) -> int:
    """Without a controller: become it for as long as it takes."""
    from controller.app.live import controller_of
    from controller.cli.converging import Convergence, Goal
    from controller.cli.narrator import Narrator
    from controller.loop.verbs import carry_out

    with controller_of(settings, Narrator()) as controller:
        loop, clock = controller.runner.loop, controller.parts.clock
        loop.acting = False
        status = controller.runner.once(frozenset({"start"})).status
        meant = _meant(command, status)
        if not meant and command.gpu is None:
            print_text(EMPTY)
            return 0
        print_text(taken(carry_out(replace(command, instances=meant) if meant else command, loop, clock.now())))
        if command.for_s is not None:
            tell("steward: no controller runs, so that nothing starts them again before `steward run` or `steward apply` does")
        loop.acting, loop.only = True, frozenset(meant)
        goal = Goal.STARTED if command.verb is Verb.START else Goal.STOPPED
        return Convergence(controller, goal, loop.only, clock.now().mono + CARRY_OUT_S).run()


def _meant(command: Command, status: Status) -> tuple[str, ...]:
    """The instances that a command is about; raises UsageError for a name that the estate in force does not have."""
    if not status.accepted and has_errors(status.problems):
        raise EstateInvalid(status.problems)
    check_names(command.instances, [instance.name for instance in status.instances])
    if command.gpu is not None:
        uuids = {card.uuid for card in status.cards if str(card.index) == command.gpu} or {command.gpu}
        return tuple(instance.name for instance in status.instances if uuids.intersection(instance.gpus))
    if command.verb is Verb.DOWN and not command.instances:
        return tuple(instance.name for instance in status.instances)
    return command.instances
