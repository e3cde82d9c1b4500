"""The JSON documents that other programs read: status, plan, validation and journal lines. Pure.

The keys are a contract, so each document is a TypedDict. What is not known is null, never 0, and a card says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypedDict

from controller.model.events import Event
from controller.model.moment import iso
from controller.model.observed import EngineMetrics
from controller.model.plan import Plan, Step
from controller.model.problem import Problem, has_errors, in_report_order
from controller.model.status import Condition, InstanceStatus, LastAction, Status
from observability.cards import CardDocument, card_document


class ConditionDocument(TypedDict):
    """One typed fact."""

    type: str
    status: str
    reason: str
    message: str


class LastActionDocument(TypedDict):
    """The latest effect on an instance; `at` in RFC 3339."""

    action: str
    cause: str
    at: str


class EngineMetricsDocument(TypedDict):
    """The engine's own figures; null where this engine does not export one."""

    generation_tokens: float | None
    prompt_tokens: float | None
    requests_running: float | None
    requests_waiting: float | None
    kv_cache_usage_ratio: float | None
    draft_acceptance_ratio: float | None


class InstanceDocument(TypedDict):
    """One instance; `tps` is decode tokens per second, `waived` the rules that it may break."""

    name: str
    state: str
    ready: bool
    why: str
    port: int
    base_url: str
    engine: str
    model: str
    compose: str
    engine_id: str
    spec_hash: str
    revision: str
    gpus: list[str]
    conditions: list[ConditionDocument]
    last_action: LastActionDocument | None
    tps: float | None
    restarts: int
    age_s: float | None
    boot_seconds: float | None
    warnings: list[str]
    waived: list[str]
    metrics: EngineMetricsDocument | None


class RevisionDocument(TypedDict):
    """What the files ask, and what is in force."""

    desired: str
    accepted: str


class ProblemDocument(TypedDict):
    """One finding; the place is null where there is none."""

    file: str | None
    line: int | None
    column: int | None
    path: str
    rule: str
    severity: str
    message: str
    hint: str


class StatusDocument(TypedDict):
    """The whole rig after one pass."""

    rig: str
    at: str
    mode: str
    revision: RevisionDocument
    converged: bool
    conditions: list[ConditionDocument]
    instances: list[InstanceDocument]
    gpus: list[CardDocument]
    problems: list[ProblemDocument]


class CauseDocument(TypedDict):
    """Why a step is there."""

    field: str
    old: str
    new: str


class StepDocument(TypedDict):
    """One step; `after` holds ids of steps of the same plan."""

    id: str
    action: str
    instance: str
    cause: CauseDocument
    after: list[str]
    waiting_for: str | None


class PlanDocument(TypedDict):
    """All that is left to do. `downtime_s` and `vram` are empty as long as nothing projects them."""

    steps: list[StepDocument]
    notes: list[str]
    downtime_s: dict[str, float]
    vram: list[dict[str, object]]


class ValidateDocument(TypedDict):
    """The verdict on an estate: valid means no error."""

    valid: bool
    problems: list[ProblemDocument]


EventDocument = TypedDict(
    "EventDocument",
    {
        "sequence": int,
        "at": str,
        "level": str,
        "kind": str,
        "instance": str,
        "message": str,
        "cause": str,
        "pass": str,
    },
)
"""One line of the journal."""


def status_document(status: Status) -> StatusDocument:
    """The status as JSON."""
    return {
        "rig": status.rig,
        "at": status.at.iso(),
        "mode": status.mode,
        "revision": {"desired": status.desired, "accepted": status.accepted},
        "converged": status.converged,
        "conditions": [_condition(condition) for condition in status.conditions],
        "instances": [instance_document(instance) for instance in status.instances],
        "gpus": [card_document(card, status.card_users.get(card.uuid, ())) for card in status.cards],
        "problems": [_problem(problem) for problem in in_report_order(status.problems)],
    }


def instance_document(instance: InstanceStatus) -> InstanceDocument:
    """One instance as JSON."""
    return {
        "name": instance.name,
        "state": instance.state.value,
        "ready": instance.ready,
        "why": instance.why,
        "port": instance.port,
        "base_url": instance.base_url,
        "engine": instance.engine,
        "model": instance.model,
        "compose": instance.compose,
        "engine_id": instance.engine_id,
        "spec_hash": instance.spec_hash,
        "revision": instance.revision,
        "gpus": list(instance.gpus),
        "conditions": [_condition(condition) for condition in instance.conditions],
        "last_action": _last_action(instance.last_action),
        "tps": finite(instance.tps),
        "restarts": instance.restarts,
        "age_s": finite(instance.age_s),
        "boot_seconds": finite(instance.boot_seconds),
        "warnings": list(instance.warnings),
        "waived": list(instance.waived),
        "metrics": _metrics(instance.metrics),
    }


def plan_document(plan: Plan) -> PlanDocument:
    """The plan as JSON, its steps in order."""
    return {"steps": [_step(step) for step in plan.steps], "notes": list(plan.notes), "downtime_s": {}, "vram": []}


def validate_document(problems: Iterable[Problem]) -> ValidateDocument:
    """The problems in report order; under `--strict` the warnings arrive here as errors already."""
    ordered = in_report_order(problems)
    return {"valid": not has_errors(ordered), "problems": [_problem(problem) for problem in ordered]}


def event_document(event: Event) -> EventDocument:
    """One journal line as JSON."""
    return {
        "sequence": event.sequence,
        "at": event.at.iso(),
        "level": event.level,
        "kind": event.kind,
        "instance": event.instance,
        "message": event.message,
        "cause": event.cause,
        "pass": event.pass_id,
    }


def finite(value: float | None) -> float | None:
    """The value, or None for what JSON cannot say (an engine may well report NaN)."""
    return value if value is not None and math.isfinite(value) else None


def draft_acceptance(metrics: EngineMetrics) -> float | None:
    """Accepted of drafted tokens since the engine's start; None without drafts."""
    drafted, accepted = finite(metrics.draft_tokens), finite(metrics.accepted_tokens)
    return accepted / drafted if drafted and drafted > 0 and accepted is not None else None


def _condition(condition: Condition) -> ConditionDocument:
    return {
        "type": condition.type,
        "status": condition.status.value,
        "reason": condition.reason,
        "message": condition.message,
    }


def _last_action(last: LastAction | None) -> LastActionDocument | None:
    return {"action": last.action, "cause": last.cause, "at": iso(last.at)} if last else None


def _metrics(metrics: EngineMetrics | None) -> EngineMetricsDocument | None:
    if metrics is None:
        return None
    return {
        "generation_tokens": finite(metrics.generation_tokens),
        "prompt_tokens": finite(metrics.prompt_tokens),
        "requests_running": finite(metrics.running),
        "requests_waiting": finite(metrics.waiting),
        "kv_cache_usage_ratio": finite(metrics.kv_usage),
        "draft_acceptance_ratio": draft_acceptance(metrics),
    }


def _step(step: Step) -> StepDocument:
    cause = step.cause
    return {
        "id": step.id,
        "action": step.action.value,
        "instance": step.instance,
        "cause": {"field": cause.field, "old": cause.old, "new": cause.new},
        "after": list(step.after),
        "waiting_for": step.waiting_for,
    }


def _problem(problem: Problem) -> ProblemDocument:
    place = problem.place
    return {
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "path": problem.path,
        "rule": problem.rule,
        "severity": problem.severity.value,
        "message": problem.message,
        "hint": problem.hint,
    }
