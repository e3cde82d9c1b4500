"""Instances as claimants: their cards are bound, kept while the `gpus` text stays, and the rules of the rig are asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from controller.model.desired import Entry, GpuCount, RunState
from controller.model.problem import Problem, Severity
from controller.model.resolved import GpuBinding
from controller.model.rig import RigFacts
from controller.resolve.draft import Draft
from controller.resolve.estate import EntrySource, Estate
from controller.resolve.parameters import waiver_of
from controller.solver import KNOWN_RULES, NEVER_WAIVED, Finding, Tenant, check_rules, dependency_findings, place


def gpus_text(entry: Entry) -> str:
    """The `gpus` of an entry in one canonical form: while it stays the same, the binding does."""
    wanted = entry.gpus
    value = wanted.model_dump() if isinstance(wanted, GpuCount) else list(wanted)
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def bind(
    estate: Estate, drafts: Mapping[str, Draft], facts: RigFacts, kept: Mapping[str, GpuBinding], report: list[Problem]
) -> Mapping[str, GpuBinding]:
    """The cards of every instance; what cannot be goes into the report."""
    names = frozenset(source.entry.name for source in estate.entries)
    tenants = [_tenant(source, drafts.get(source.entry.name), kept, estate.names - names) for source in estate.entries]
    placement = place(tenants, facts)
    findings = [*placement.findings, *check_rules(tenants, facts, placement.cards), *dependency_findings(tenants)]
    sources = {source.entry.name: source for source in estate.entries}
    report.extend(_located(finding, sources) for finding in findings)
    return {name: GpuBinding(gpus_text(sources[name].entry), cards) for name, cards in placement.cards.items()}


def _tenant(source: EntrySource, draft: Draft | None, kept: Mapping[str, GpuBinding], broken: frozenset[str]) -> Tenant:
    """What is known of an instance; of one whose template is wrong only what its entry says."""
    entry = source.entry
    before = kept.get(entry.name)
    plain = Tenant(
        name=entry.name,
        running=entry.state is RunState.RUNNING,
        port=entry.port,
        wanted=entry.gpus,
        exclusive=not entry.share,
        kept=before.uuids if before and before.text == gpus_text(entry) else None,
        cpu=True,
        depends_on=tuple(name for name in entry.depends_on if name not in broken),
    )
    return plain if draft is None else _with_template(plain, draft)


def _with_template(plain: Tenant, draft: Draft) -> Tenant:
    steward = draft.template.steward
    return replace(
        plain,
        exclusive=draft.exclusive,
        tensor=_size(draft, "tensor_parallel_size"),
        pipeline=_size(draft, "pipeline_parallel_size"),
        gpus_needed=steward.requires.gpus,
        needs_nvlink=steward.requires.nvlink,
        cpu=draft.template.profile.cpu,
        engine=draft.template.profile.id,
    )


def _size(draft: Draft, name: str) -> int | None:
    """A parallel size; None for engines without it, and for one that was refused already."""
    value = draft.parameters.get(name)
    if isinstance(value, int):
        return value
    refused = draft.source.entry.set.get(name) is not None
    return None if refused or name not in draft.template.dialect.supported else 1


def _located(finding: Finding, sources: Mapping[str, EntrySource]) -> Problem:
    source = sources[finding.instance]
    message = finding.message
    if finding.other:
        message = f"{message} ({finding.other} at {sources[finding.other].place(finding.path[:1])})"
    severity, hint = finding.severity, finding.hint
    waiver = waiver_of(source, finding.rule)
    if waiver and severity is Severity.ERROR and finding.rule not in NEVER_WAIVED:
        severity, message, hint = Severity.WARNING, f"{message}; waived: {waiver.reason}", ""
    return source.problem(finding.path, finding.rule, message, hint, severity)


def waiver_problems(source: EntrySource) -> Sequence[Problem]:
    """A waiver names a rule that exists and may be waived."""
    found = []
    for position, waiver in enumerate(source.entry.waive):
        path = ("waive", position, "rule")
        if waiver.rule in NEVER_WAIVED:
            hint = f"never waived: {', '.join(sorted(NEVER_WAIVED))}"
            found.append(source.problem(path, "waive", f"{waiver.rule} cannot be waived", hint))
        elif waiver.rule not in KNOWN_RULES:
            hint = "rules that can be waived: C2 to C16, E2, E3"
            found.append(source.problem(path, "waive", f"there is no rule {waiver.rule}", hint))
    return found
