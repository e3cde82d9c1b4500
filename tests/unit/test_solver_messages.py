"""The rules together: every one is shown from all sides, and what they say is on record."""

from __future__ import annotations

import pytest

from controller.model.problem import Severity
from controller.solver import KNOWN_RULES, NEVER_WAIVED, RULES
from tests.solver_messages import CASES, FILE, messages


def test_messages_are_those_on_record() -> None:
    """Given every case, when it is judged, then the golden file has the messages (`python -m tests.solver_messages`)."""
    assert messages() == FILE.read_text()


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_every_rule_is_shown_from_all_sides(rule: str) -> None:
    """Given a rule, when its cases are counted, then one passes, one fails and one stands at the boundary."""
    assert {"passing", "failing", "boundary"} <= {case.kind for case in CASES if case.rule == rule}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_finding_is_graver_than_its_rule(rule: object) -> None:
    """Given a rule's cases, when they are judged, then its severity in the registry is the gravest that it gives."""
    order = list(Severity)
    own = next(one for one in RULES if one is rule)
    given = {finding.severity for case in CASES if case.rule == own.id for finding in case.findings}
    assert min(given, key=order.index) is own.severity


def test_ids() -> None:
    """Given the registry, when its ids are read, then those that are known from older tools are all there, none twice."""
    ids = [rule.id for rule in RULES]
    assert ids == [*(f"C{n}" for n in range(1, 17)), *(f"E{n}" for n in range(1, 5)), *(f"G{n}" for n in range(1, 14))]
    assert NEVER_WAIVED < KNOWN_RULES == set(ids)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_exactly_one_function_a_rule(rule: object) -> None:
    """Given a rule, when its functions are counted, then it asks in exactly one way."""
    own = next(one for one in RULES if one is rule)
    assert [own.alone, own.in_rig, own.together].count(None) == 2
