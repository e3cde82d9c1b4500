"""What an import could not carry, and what is still wrong with its result. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from controller.model.problem import Problem, Severity
from observability.text.cells import Color, clean, paint
from observability.text.problems import problems_text
from observability.text.units import count


def left_behind_text(problems: Sequence[Problem], *, color: bool) -> str:
    """`file:line:column: not carried: message`, with what to do below; `carried otherwise` for what has another form."""
    if not problems:
        return "everything was carried\n"
    lines = [line for problem in problems for line in _lines(problem, color=color)]
    lost = sum(problem.severity is Severity.WARNING for problem in problems)
    lines.append(f"{count(lost, 'thing')} not carried, {len(problems) - lost} carried otherwise")
    return "\n".join(lines) + "\n"


def _lines(problem: Problem, *, color: bool) -> list[str]:
    lost = problem.severity is Severity.WARNING
    word = paint("not carried" if lost else "carried otherwise", Color.WARN if lost else Color.FAINT, on=color)
    place = f"{problem.place}: " if problem.place else ""
    lines = [f"{place}{word}: {clean(problem.message)}"]
    return [*lines, f"    hint: {clean(problem.hint)}"] if problem.hint else lines


def faults_text(problems: Sequence[Problem], *, color: bool) -> str:
    """What has to be mended before the estate is valid; nothing for one that is."""
    return f"\nthe estate needs a hand before it is valid:\n{problems_text(problems, color=color)}" if problems else ""
