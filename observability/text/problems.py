"""Problems as an editor and a terminal can link them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controller.model.problem import Problem, Severity, has_errors, in_report_order
from observability.text.cells import Color, clean, paint
from observability.text.units import count

_COLORS = {Severity.ERROR: Color.BAD, Severity.WARNING: Color.WARN, Severity.INFO: Color.FAINT}


def problems_text(problems: Iterable[Problem], *, color: bool) -> str:
    """`file:line:column: error: message [rule]` with path and hint below, and the counts at the end."""
    ordered = in_report_order(problems)
    lines = [line for problem in ordered for line in _lines(problem, color=color)]
    return "\n".join([*lines, _summary(ordered)]) + "\n"


def _lines(problem: Problem, *, color: bool) -> list[str]:
    place = f"{problem.place}: " if problem.place else ""
    severity = paint(problem.severity.value, _COLORS[problem.severity], on=color)
    rule = f" [{problem.rule}]" if problem.rule else ""
    lines = [f"{place}{severity}: {clean(problem.message)}{rule}"]
    if problem.path:
        lines.append(f"    at: {clean(problem.path)}")
    if problem.hint:
        lines.append(f"    hint: {clean(problem.hint)}")
    return lines


def _summary(problems: tuple[Problem, ...]) -> str:
    if not problems:
        return "valid: no problems"
    verdict = "not valid" if has_errors(problems) else "valid"
    nouns = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    counts = {severity: sum(1 for problem in problems if problem.severity is severity) for severity in nouns}
    return f"{verdict}: " + ", ".join(count(counts[severity], noun) for severity, noun in nouns.items() if counts[severity])
