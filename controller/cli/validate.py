"""`steward validate`: is this estate right? It touches neither Docker nor any engine."""

from __future__ import annotations

import argparse
from dataclasses import replace

from controller.adapters.kernel_clock import KernelClock
from controller.app.files import FileResolver, facts_of, is_simulated, source_of
from controller.app.payloads import payload_warnings, payloads_of
from controller.cli.output import add_output, has_color, print_json, print_text
from controller.model.problem import Problem, Severity, has_errors, in_report_order
from controller.model.resolved import Resolved
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    add_output(parser, "github")
    parser.add_argument("--strict", action="store_true", help="warnings are errors")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print every problem; 0 when there is no error."""
    problems = in_report_order(_strict(find_problems(settings)) if options.strict else find_problems(settings))
    _print(problems, options.output)
    return 1 if has_errors(problems) else 0


def find_problems(settings: Settings) -> tuple[Problem, ...]:
    """Every problem of the estate on disk, warnings and notes included."""
    found = source_of(settings).read()
    if isinstance(found, tuple):
        return found
    resolved = FileResolver(settings).resolve(found, facts_of(settings), {}, KernelClock().now().wall)
    if not isinstance(resolved, Resolved):
        return resolved
    warnings = () if is_simulated(settings.rig) else payload_warnings(resolved, payloads_of(settings))
    return (*resolved.problems, *warnings)


def _strict(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(replace(p, severity=Severity.ERROR) if p.severity is Severity.WARNING else p for p in problems)


def _print(problems: tuple[Problem, ...], output: str) -> None:
    if output == "json":
        from observability.documents import validate_document

        print_json(validate_document(problems))
    elif output == "github":
        from observability.text import github_annotations

        print_text(github_annotations(problems))
    else:
        from observability.text import problems_text

        print_text(problems_text(problems, color=has_color()))
