"""Waivers: a rule that an instance may break for a while, and what happens when that while is over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.model.fields import parse_timestamp
from controller.model.problem import Severity
from controller.model.resolved import Resolved
from controller.model.verdict import Outcome, Verdict
from controller.resolve import Surroundings
from tests.unit.resolving import TWO_CARDS, errors_of, grave, outcome, problems, resolved, shown

UNTIL = "2027-01-01T00:00:00Z"
END = parse_timestamp(UNTIL)
ABOVE = "name: a, compose: vllm/any, gpus: [0], port: 8010, set: {model_path: m, max_model_len: 65536}"
"""Above the template's maximum, which is C11."""
WAIVED = f"{ABOVE}, waive: [{{rule: C11, reason: tested by us, until: {UNTIL}}}]"
MOVING = "name: a, compose: vllm/any, gpus: [0], port: 8010, image: 'vllm/vllm-openai:latest', set: {model_path: m}"
"""An image whose tag moves, which G4 warns of."""


def at(now: float | None, *, held: bool = False) -> Surroundings:
    """Two cards at a moment."""
    return Surroundings(TWO_CARDS, now=now, held=held)


def verdict(found: Resolved, rule: str) -> Verdict:
    """What a rule says of the only instance."""
    return next(v for v in found.instances[0].verdicts if v.rule == rule)


@pytest.mark.parametrize("now", [None, END - 1])
def test_a_waiver_makes_a_broken_rule_a_warning(now: float | None) -> None:
    """Given a waiver that still counts, when the rule is broken, then there is a warning that says until when and why."""
    found = resolved(f"estate: [{{{WAIVED}}}]", around=at(now))
    (warning,) = grave(found.problems)
    assert warning.severity is Severity.WARNING
    assert warning.message.endswith("; waived until 2027-01-01T00:00:00.000Z: tested by us")
    assert warning.hint == ""


def test_a_waiver_counts_no_more_once_its_time_is_over() -> None:
    """Given a waiver whose time is over, when the estate is resolved, then the rule is an error again, and that is said."""
    found = problems(f"estate: [{{{WAIVED}}}]", around=at(END))
    assert shown(found) == [
        "estate[0].set.max_model_len C11: max_model_len 65536 is above the template's maximum 32768 | "
        "the template allows up to 32768"
    ]
    assert shown(found, Severity.WARNING) == [
        "estate[0].waive[0].until waive: the waiver of C11 is over since 2027-01-01T00:00:00.000Z and counts no more | "
        "remove it, or give it a later time"
    ]


def test_a_waiver_that_is_over_is_said_although_nothing_breaks() -> None:
    """Given a left-over waiver, when its rule holds, then the estate is valid with a warning."""
    kept = WAIVED.replace("65536", "4096")
    assert [p.rule for p in grave(resolved(f"estate: [{{{kept}}}]", around=at(END + 1)).problems)] == ["waive"]


def test_a_resolution_says_how_long_it_holds() -> None:
    """Given waivers that end one after the other, when the estate is resolved, then it holds until the next end."""
    later = WAIVED.replace("name: a", "name: b").replace("8010", "8011").replace("[0]", "[1]").replace("2027", "2028")
    estate = f"estate: [{{{WAIVED}}}, {{{later.replace('65536', '4096')}}}]"
    assert resolved(estate, around=at(END - 1)).holds_until == END
    assert resolved(estate.replace("65536", "4096"), around=at(END)).holds_until == parse_timestamp("2028-01-01T00:00:00Z")
    assert resolved(f"estate: [{{{ABOVE.replace('65536', '4096')}}}]", around=at(END)).holds_until is None


def test_what_is_in_force_stays_so_when_a_rule_is_broken() -> None:
    """Given a revision in force, when a waiver of it is over, then the broken rule is a warning; a wrong value is none."""
    found = resolved(f"estate: [{{{WAIVED}}}]", around=at(END, held=True))
    assert sorted(p.rule for p in grave(found.problems)) == ["C11", "waive"]
    broken = WAIVED.replace("65536", "'many'")
    assert isinstance(outcome(f"estate: [{{{broken}}}]", around=at(END, held=True)), tuple)


@pytest.mark.parametrize("rule", ["C1", "E1", "E4"])
def test_some_rules_are_never_waived(rule: str) -> None:
    """Given a waiver of a rule without which nothing can run, when it is resolved, then that is an error."""
    found = errors_of(f"{ABOVE.replace('65536', '4096')}, waive: [{{rule: {rule}, reason: x, until: {UNTIL}}}]")
    assert found == [f"estate[0].waive[0].rule waive: {rule} cannot be waived | never waived: C1, E1, E4"]


def test_an_unknown_rule_is_told_with_those_that_there_are() -> None:
    """Given a waiver of what is no rule, when it is resolved, then the rules that may be waived are listed in order."""
    (error,) = errors_of(f"{ABOVE.replace('65536', '4096')}, waive: [{{rule: C77, reason: x, until: {UNTIL}}}]")
    assert error.startswith("estate[0].waive[0].rule waive: there is no rule C77 | rules that can be waived: C2, C3, C4, ")
    assert ", C16, E2, E3, G1, " in error


def test_every_rule_has_a_verdict_on_every_instance() -> None:
    """Given a valid estate, when it is resolved, then each instance has one verdict a rule, in one order, skipped ones too."""
    found = resolved(f"estate: [{{{MOVING}}}]")
    rules = [v.rule for v in found.instances[0].verdicts]
    assert len(rules) == len(set(rules))
    assert {"C1", "C16", "E1", "E4", "G1"} <= set(rules)
    assert verdict(found, "C1").outcome is Outcome.HOLDS
    assert verdict(found, "C8").outcome is Outcome.SKIPPED
    assert all(v.text for v in found.instances[0].verdicts if v.outcome is Outcome.SKIPPED)


def test_a_verdict_carries_its_waiver() -> None:
    """Given a rule that warns and is waived, when the instance is resolved, then its verdict says until when and why."""
    plain = resolved(f"estate: [{{{MOVING}}}]")
    assert verdict(plain, "G4").outcome is Outcome.WARNS
    waived = f"{MOVING}, waive: [{{rule: G4, reason: our mirror, until: {UNTIL}}}]"
    found = resolved(f"estate: [{{{waived}}}]", around=at(END - 1))
    assert verdict(found, "G4").waived == "until 2027-01-01T00:00:00.000Z: our mirror"
    assert verdict(found, "G4").reason.endswith("; waived until 2027-01-01T00:00:00.000Z: our mirror")
    assert verdict(resolved(f"estate: [{{{waived}}}]", around=at(END)), "G4").waived == ""


def test_verdicts_are_no_part_of_what_an_instance_is() -> None:
    """Given two resolutions that differ in verdicts, when their instances are compared, then they are equal."""
    one = resolved(f"estate: [{{{MOVING}}}]").instances[0]
    assert replace(one, verdicts=(), unpullable="gone") == one
