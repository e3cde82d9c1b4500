"""What a person's verbs do: they change what the next plan is made from, never the engine itself."""

from __future__ import annotations

import difflib
from typing import Protocol

from controller.loop.desire import Desire
from controller.loop.recall import Recall
from controller.loop.say import Speaker
from controller.model.desired import RunState
from controller.model.events import Command, Reply, Verb
from controller.model.moment import Instant, iso
from controller.model.reading import Known
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.model.track import Override
from controller.ports import Store


class Rig(Protocol):
    """What the verbs need of the loop."""

    store: Store
    desire: Desire
    recall: Recall
    speaker: Speaker
    cards: RigFacts


def carry_out(command: Command, rig: Rig, now: Instant) -> Reply:
    """Do what was asked; a name that does not exist changes nothing at all."""
    if command.verb is Verb.SYNC:
        rig.desire.forget()
        return Reply(True, "the estate is read again now")
    resolved = rig.desire.in_force(rig.cards, now)
    if not isinstance(resolved, Resolved):
        return Reply(False, "no estate is in force yet")
    names = _names(command, resolved, rig.cards)
    if isinstance(names, Reply):
        return names
    reply = _start(names, resolved, rig) if command.verb is Verb.START else _stop(names, command, rig, now)
    rig.recall.changed()
    return reply


def _names(command: Command, resolved: Resolved, cards: RigFacts) -> tuple[str, ...] | Reply:
    known = tuple(instance.name for instance in resolved.instances)
    if command.gpu is not None:
        uuid = _uuid(command.gpu, cards)
        found = tuple(i.name for i in resolved.instances if uuid in i.spec.gpus)
        return found or Reply(False, f"no instance is on card {command.gpu}")
    if command.verb is Verb.DOWN and not command.instances:
        return known
    if command.verb is Verb.START and not command.instances:
        return tuple(i.name for i in resolved.instances if i.state is RunState.RUNNING)
    for name in command.instances:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; the estate has {', '.join(known) or 'none'}"
            return Reply(False, f"there is no instance {name}{hint}")
    return command.instances


def _uuid(gpu: str, cards: RigFacts) -> str:
    if isinstance(cards.cards, Known) and gpu.isdigit():
        return next((card.uuid for card in cards.cards.value if card.index == int(gpu)), gpu)
    return gpu


def _stop(names: tuple[str, ...], command: Command, rig: Rig, now: Instant) -> Reply:
    until = now.wall + command.for_s if command.for_s is not None else None
    for name in names:
        rig.store.set_override(Override(name, command.verb.value, until, command.reason, command.who, now.wall))
        why = f"{command.verb.value} by {command.who or 'somebody'}" + (f": {command.reason}" if command.reason else "")
        rig.speaker.say("Override", why + (f", until {iso(until)}" if until else ""), instance=name)
    ends = f"until {iso(until)}" if until else "until `steward start`"
    return Reply(True, f"{', '.join(names)}: stopping, {ends}")


def _start(names: tuple[str, ...], resolved: Resolved, rig: Rig) -> Reply:
    stopped = [n for n in names if (i := resolved.get(n)) is not None and i.state is RunState.STOPPED]
    if stopped:
        return Reply(False, f"{', '.join(stopped)}: the estate says `state: stopped`; change it there")
    for name in names:
        rig.store.clear_override(name)
        rig.store.clear_failures(name)
        rig.speaker.say("Override", "start: overrides and earlier failures are forgotten", instance=name)
    return Reply(True, f"{', '.join(names)}: starting")
