"""The doctor's table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.adapters.doctor.finding import Finding, Health

_WORST_FIRST: Final = (Health.FAIL, Health.WARN, Health.UNKNOWN, Health.OK)
_STATUS_WIDTH: Final = 7


def doctor_text(findings: Sequence[Finding]) -> str:
    """One line a finding in the order of the examination, its hint below, then how many of each kind."""
    width = max((len(finding.name) for finding in findings), default=0)
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<{_STATUS_WIDTH}}  {finding.name:<{width}}  {finding.detail}")
        if finding.hint:
            lines.append(f"{'':<{_STATUS_WIDTH}}  {'':<{width}}  hint: {finding.hint}")
    counts = [(sum(finding.status is status for finding in findings), status) for status in _WORST_FIRST]
    lines.append(", ".join(f"{count} {status}" for count, status in counts if count) or "nothing was looked at")
    return "\n".join(lines) + "\n"
