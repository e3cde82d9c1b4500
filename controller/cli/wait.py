"""`steward wait NAME`: return when an instance is ready, or gone."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Final

from controller.app.naming import check_names
from controller.cli.arguments import duration
from controller.cli.output import print_text, tell
from controller.cli.talk import client_of
from controller.errors import EnvironmentFault, StewardError
from controller.model.status import State
from controller.settings import Settings

LOOK_S: Final = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("name", metavar="NAME", help="the instance")
    what = "ready: it serves (default); gone: it is stopped or not there"
    parser.add_argument("--for", dest="goal", choices=("ready", "gone"), default="ready", help=what)
    parser.add_argument("--timeout", type=duration, default=600.0, metavar="10m", help="give up after this (default: 10m)")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a wait looks at: the instances by name with (state, ready, engine id, why), and whose steps are left."""

    instances: dict[str, tuple[str, bool, str, str]]
    busy: frozenset[str]


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Wait; 0 when it came true, 1 when it did not in time."""
    ends, said = time.monotonic() + options.timeout, ""
    while True:
        reached, now = _look(options, settings)
        if reached:
            print_text(f"{options.name} is {options.goal}")
            return 0
        if time.monotonic() >= ends:
            raise StewardError(f"{options.name} is not {options.goal} after {options.timeout:g} s: {now}")
        if now != said:
            said = now
            tell(f"{options.name}: {now}")
        time.sleep(LOOK_S)


def _look(options: argparse.Namespace, settings: Settings) -> tuple[bool, str]:
    """Whether it came true, else how it stands; a controller that does not answer for a while is waited for too."""
    try:
        seen = _seen(settings)
    except EnvironmentFault as fault:
        return False, str(fault)
    if options.goal == "gone":
        return _is_gone(options.name, seen)
    check_names([options.name], sorted(seen.instances))
    state, ready, _, why = seen.instances[options.name]
    return ready, f"{state}, {why}" if why and state in (State.STALLED, State.STOPPED, State.SUSPENDED) else state


def _is_gone(name: str, seen: _Seen) -> tuple[bool, str]:
    """Stopped for good, or without a container; one that left the estate is gone once nothing is left to do for it."""
    if name not in seen.instances:
        return name not in seen.busy, "it is being removed"
    state, _, engine_id, _ = seen.instances[name]
    return state == State.STOPPED or not engine_id, f"{state}, its container is still there"


def _seen(settings: Settings) -> _Seen:
    client = client_of(settings)
    if client is not None:
        listed = client.get("/api/v1/status")["instances"]
        steps = client.get("/api/v1/plan")["steps"]
        rows = {i["name"]: (i["state"], i["ready"], i["engine_id"], i["why"]) for i in listed}
        return _Seen(rows, frozenset(step["instance"] for step in steps))
    from controller.app.peek import look

    found = look(settings, fall_back=True)
    rows = {i.name: (str(i.state), i.ready, i.engine_id, i.why) for i in found.status.instances}
    return _Seen(rows, frozenset(step.instance for step in found.plan.steps))
