"""`steward wait NAME`: return when an instance is ready, or gone."""

from __future__ import annotations

import argparse
import time
from typing import Any

from controller.cli.naming import check_names
from controller.cli.output import print_text
from controller.cli.talk import client_of
from controller.cli.times import duration
from controller.errors import StewardError
from controller.settings import Settings

LOOK_S = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("name", metavar="NAME", help="the instance")
    parser.add_argument("--for", dest="goal", choices=("ready", "gone"), default="ready", help="what to wait for")
    parser.add_argument("--timeout", type=duration, default=600.0, metavar="10m", help="give up after this (default: 10m)")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Wait; 0 when it came true, 1 when it did not in time."""
    ends = time.monotonic() + options.timeout
    while True:
        reached, why = _reached(options, settings)
        if reached:
            print_text(f"{options.name} is {options.goal}")
            return 0
        if time.monotonic() >= ends:
            raise StewardError(
                f"{options.name} is not {options.goal} after {options.timeout:.0f} s" + (f": {why}" if why else "")
            )
        time.sleep(LOOK_S)


def _reached(options: argparse.Namespace, settings: Settings) -> tuple[bool, str]:
    instances = {i["name"]: i for i in _instances(settings)}
    if options.goal == "gone":
        there = instances.get(options.name)
        return there is None or not there["engine_id"], "its container is still there"
    check_names([options.name], sorted(instances))
    instance = instances[options.name]
    return bool(instance["ready"]), f"{instance['state']} {instance.get('why', '')}".strip()


def _instances(settings: Settings) -> list[dict[str, Any]]:
    client = client_of(settings)
    if client is not None:
        found: list[dict[str, Any]] = client.get("/api/v1/status")["instances"]
        return found
    from controller.app.peek import look
    from observability.documents import status_document

    return [dict(instance) for instance in status_document(look(settings).status)["instances"]]
