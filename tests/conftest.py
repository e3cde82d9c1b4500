"""What every test may use: parts of the machine that may be missing, and the summary of what was skipped for want of them."""

from __future__ import annotations

import os
from collections import Counter

import pytest

pytest_plugins = ["tests.docker_fixtures"]

_missing: set[str] = set()


def require(part: str, available: bool, reason: str) -> None:
    """Skip the test when a part is not there, or fail it when `STEWARD_REQUIRE` (a comma list) names the part."""
    if available:
        return
    if part in required_parts():
        pytest.fail(f"{part} is required by STEWARD_REQUIRE but missing: {reason}", pytrace=False)
    _missing.add(f"{part}: {reason}")
    pytest.skip(f"{part}: {reason}")


def required_parts() -> frozenset[str]:
    """The parts that must be there."""
    return frozenset(part.strip() for part in os.environ.get("STEWARD_REQUIRE", "").split(",") if part.strip())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which parts were missing, so that a green run does not pass for a complete one."""
    reasons = [str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())]
    counted = Counter(reason for reason in reasons if reason in _missing)
    if counted:
        terminalreporter.section("parts not tested")
    for reason, times in sorted(counted.items()):
        terminalreporter.line(f"{reason} ({times} skipped)")
