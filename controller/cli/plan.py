"""`steward plan`: what would be done now, and why. It changes nothing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from controller.app.files import is_simulated
from controller.app.naming import check_names
from controller.cli.naming import name_list
from controller.cli.output import add_output, has_color, print_json, print_text, tell
from controller.cli.talk import client_of
from controller.errors import EngineUnreachable, EstateInvalid
from controller.model.plan import Plan
from controller.model.problem import Problem, Severity
from controller.model.reading import Unknown
from controller.settings import Settings

if TYPE_CHECKING:
    from observability.client import SocketClient


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser)
    parser.add_argument("--only", metavar="A,B", help="show the steps of these instances only")
    parser.add_argument("--detailed-exitcode", action="store_true", help="exit 2 when there is something to do")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the plan; raises EngineUnreachable where nothing can be planned."""
    client = client_of(settings) if is_simulated(settings.rig) else None
    plan, names, problems = _looked_up(settings) if client is None else _asked(client)
    only = name_list(options.only)
    check_names(only, names)
    if only:
        plan = replace(plan, steps=tuple(step for step in plan.steps if step.instance in only))
    _print(plan, problems, options.output)
    return 2 if options.detailed_exitcode and plan.steps else 0


def _print(plan: Plan, problems: Sequence[Problem], output: str) -> None:
    """The plan on stdout; what is not quite right with the estate on stderr."""
    from observability.documents import plan_document
    from observability.text import plan_text, problems_text

    if warnings := [problem for problem in problems if problem.severity is Severity.WARNING]:
        tell(problems_text(warnings, color=has_color(sys.stderr)))
    if output == "json":
        print_json(plan_document(plan))
    else:
        print_text(plan_text(plan))


def _looked_up(settings: Settings) -> tuple[Plan, list[str], Sequence[Problem]]:
    """The plan for the estate on disk and the engine as it is, the names of the instances, and the estate's problems."""
    from controller.app.peek import look

    seen = look(settings)
    if isinstance(seen.observed.containers, Unknown):
        raise EngineUnreachable(seen.observed.containers.reason)
    return seen.plan, [instance.name for instance in seen.resolved.instances], seen.status.problems


def _asked(client: SocketClient) -> tuple[Plan, list[str], Sequence[Problem]]:
    """The same from the controller that a simulated rig lives in; raises EstateInvalid while it refuses the estate."""
    from controller.cli.follow import is_refused, problem_of, step_of

    status = client.get("/api/v1/status")
    problems = tuple(problem_of(problem) for problem in status["problems"])
    if is_refused(status):
        raise EstateInvalid(problems)
    document = client.get("/api/v1/plan")
    steps = tuple(step_of(step) for step in document["steps"])
    names = [instance["name"] for instance in status["instances"]]
    return Plan(steps, tuple(document["notes"])), names, problems
