"""Problems as workflow commands, which GitHub shows at the line of a pull request. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controller.model.problem import Problem, Severity, in_report_order

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_annotations(problems: Iterable[Problem]) -> str:
    """One command a line; empty without problems."""
    return "".join(_command(problem) + "\n" for problem in in_report_order(problems))


def _command(problem: Problem) -> str:
    properties: dict[str, str] = {}
    if problem.place:
        properties = {"file": problem.place.file, "line": str(problem.place.line), "col": str(problem.place.column)}
    if problem.rule:
        properties["title"] = problem.rule
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    path = f"{problem.path}: " if problem.path else ""
    hint = f"\nhint: {problem.hint}" if problem.hint else ""
    return f"::{_COMMANDS[problem.severity]}{' ' if listed else ''}{listed}::{_data(path + problem.message + hint)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
