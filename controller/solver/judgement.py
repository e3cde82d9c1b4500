"""Every rule asked about every instance: what is wrong, and what each rule had to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from controller.model.problem import Severity
from controller.model.verdict import Outcome, Verdict
from controller.solver.candidate import Candidate, RigView
from controller.solver.registry import RULES
from controller.solver.rule import Remark, Rule, Said
from controller.solver.tenant import Finding

_OUTCOMES: Final = {Severity.ERROR: Outcome.BROKEN, Severity.WARNING: Outcome.WARNS, Severity.INFO: Outcome.NOTES}


@dataclass(frozen=True, slots=True)
class Judgement:
    """`findings` are what is wrong or worth knowing; `verdicts` are one a rule and candidate, in the order of both."""

    findings: tuple[Finding, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


def judge(view: RigView) -> Judgement:
    """Ask every rule; nothing that one of them finds keeps another from being asked."""
    together = {rule.id: tuple(rule.together(view)) for rule in RULES if rule.together is not None}
    findings = [one for one in view.unplaced if one.rule not in together]
    findings += [one for found in together.values() for one in found]
    verdicts = []
    for candidate in view.candidates:
        for rule in RULES:
            if rule.together is None:
                said: Sequence[Said] = rule.about(candidate, view)
            else:
                said = [one for one in together[rule.id] if one.instance == candidate.name]
            if len(said) == 1 and isinstance(remark := said[0], Remark):
                verdicts.append(Verdict(rule.id, candidate.name, remark.outcome, remark.text))
                continue
            own = [_within_reach(one, candidate) for one in said if isinstance(one, Finding)]
            findings += own if rule.together is None else ()
            verdicts.append(_verdict(rule, candidate.name, own))
    return Judgement(tuple(findings), tuple(verdicts))


def _within_reach(finding: Finding, candidate: Candidate) -> Finding:
    """A finding about a parameter that the template does not open: its way out leads over the template."""
    path = finding.path
    if len(path) < 2 or path[0] != "set" or path[1] in candidate.open_parameters:
        return finding
    return replace(
        finding, hint=f"{finding.hint} (the template does not open {path[1]}: take another one, or a copy that does)"
    )


def _verdict(rule: Rule, instance: str, findings: Sequence[Finding]) -> Verdict:
    if not findings:
        return Verdict(rule.id, instance, Outcome.HOLDS, rule.title)
    outcomes = {_OUTCOMES[finding.severity] for finding in findings}
    gravest = next(outcome for outcome in _OUTCOMES.values() if outcome in outcomes)
    return Verdict(rule.id, instance, gravest, "; ".join(finding.message for finding in findings))
