"""`steward plan`: what would be done now, and why. It changes nothing."""

from __future__ import annotations

import argparse
from dataclasses import replace

from controller.cli.naming import check_names, name_list
from controller.cli.output import add_output, print_json, print_text
from controller.errors import EngineUnreachable
from controller.model.reading import Unknown
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser)
    parser.add_argument("--only", metavar="A,B", help="show the steps of these instances only")
    parser.add_argument("--detailed-exitcode", action="store_true", help="exit 2 when there is something to do")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the plan; raises EngineUnreachable where nothing can be planned."""
    from controller.app.peek import look
    from observability.documents import plan_document
    from observability.text import plan_text

    seen = look(settings)
    only, plan = name_list(options.only), seen.plan
    check_names(only, [instance.name for instance in seen.resolved.instances])
    if isinstance(seen.observed.containers, Unknown):
        raise EngineUnreachable(seen.observed.containers.reason)
    if only:
        plan = replace(plan, steps=tuple(step for step in plan.steps if step.instance in only))
    if options.output == "json":
        print_json(plan_document(plan))
    else:
        print_text(plan_text(plan))
    return 2 if options.detailed_exitcode and plan.steps else 0
