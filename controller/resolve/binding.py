"""Instances as claimants: their cards are bound, kept while the `gpus` text stays, and the rules of the rig are asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.model.desired import Entry, GpuCount, RunState
from controller.model.problem import Problem
from controller.model.resolved import GpuBinding
from controller.model.verdict import Outcome, Verdict
from controller.resolve.candidates import Table, rig_view
from controller.resolve.card_types import card_types, unknown_cards
from controller.resolve.draft import Draft
from controller.resolve.estate import EntrySource, Estate
from controller.resolve.parameters import CONTEXT_RULE, context_fault
from controller.resolve.profiles import Profiles
from controller.resolve.surroundings import Surroundings
from controller.resolve.waivers import Waivers
from controller.solver import Finding, Judgement, Tenant, judge, memory_claims, place


def gpus_text(entry: Entry) -> str:
    """The `gpus` of an entry in one canonical form: while it stays the same, the binding does."""
    wanted = entry.gpus
    value = wanted.model_dump() if isinstance(wanted, GpuCount) else list(wanted)
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Bound:
    """What became of the claims: the cards of each instance, and what every rule says of it."""

    cards: Mapping[str, GpuBinding]
    verdicts: Mapping[str, tuple[Verdict, ...]]
    reasons: Mapping[str, str]
    """Why an instance that only says how many cards it needs has these."""
    claims: Mapping[str, Mapping[str, int]]
    """Bytes that an instance asks of each card."""


def bind(
    estate: Estate,
    drafts: Mapping[str, Draft],
    profiles: Profiles,
    around: Surroundings,
    waivers: Waivers,
    report: list[Problem],
) -> Bound:
    """Give every instance its cards and ask the rules; what cannot be goes into the report."""
    names = frozenset(source.entry.name for source in estate.entries)
    kept, facts = around.bindings, around.cards
    tenants = [_tenant(source, drafts.get(source.entry.name), kept, estate.names - names) for source in estate.entries]
    types = card_types(facts, profiles) if any(tenant.card_count for tenant in tenants) else {}
    placement = place(tenants, facts, types)
    view = rig_view(tenants, drafts, placement, Table(profiles, facts, types, placement.cards), simulated=around.simulated)
    judgement = judge(view)
    sources = {source.entry.name: source for source in estate.entries}
    report.extend(waivers.lowered(sources[f.instance], _located(f, sources)) for f in judgement.findings)
    report.extend(unknown_cards(facts, types, (uuid for uuids in placement.cards.values() for uuid in uuids)))
    cards = {name: GpuBinding(gpus_text(sources[name].entry), uuids) for name, uuids in placement.cards.items()}
    verdicts = _by_instance(judgement, drafts, waivers)
    return Bound(cards, verdicts, placement.reasons, memory_claims(view.candidates))


def _by_instance(judgement: Judgement, drafts: Mapping[str, Draft], waivers: Waivers) -> Mapping[str, tuple[Verdict, ...]]:
    """Every verdict with the template's own maximum and the entry's waivers in it."""
    found: dict[str, list[Verdict]] = {}
    for verdict in judgement.verdicts:
        draft = drafts[verdict.instance]
        whole = waivers.applied(draft.source, _with_template_maximum(verdict, draft))
        found.setdefault(verdict.instance, []).append(whole)
    return {name: tuple(verdicts) for name, verdicts in found.items()}


def _with_template_maximum(verdict: Verdict, draft: Draft) -> Verdict:
    """The verdict on the context, to which the template's own maximum counts like the model's."""
    fault = context_fault(draft.template, draft.parameters) if verdict.rule == CONTEXT_RULE else ""
    if not fault:
        return verdict
    text = f"{verdict.text}; {fault}" if verdict.outcome is Outcome.BROKEN else fault
    return replace(verdict, outcome=Outcome.BROKEN, text=text)


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
    requires, engine = draft.template.steward.requires, draft.template.profile
    floors = (engine.min_compute_capability, requires.fallback_compute_capability or requires.compute_capability)
    known = [float(floor) for floor in floors if floor is not None]
    need = None if requires.min_vram_gib is None else int(requires.min_vram_gib * 2**30)
    return replace(
        plain,
        exclusive=draft.exclusive,
        tensor=_size(draft, "tensor_parallel_size"),
        pipeline=_size(draft, "pipeline_parallel_size"),
        gpus_needed=requires.gpus,
        needs_nvlink=requires.nvlink,
        contiguous=requires.contiguous,
        min_vram_bytes=need if draft.vram_claim_bytes is None else draft.vram_claim_bytes,
        min_compute_capability=max(known, default=None),
        cpu=engine.cpu,
        engine=engine.id,
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
    return source.problem(finding.path, finding.rule, message, finding.hint, finding.severity)
