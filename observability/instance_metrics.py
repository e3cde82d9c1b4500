"""Metrics of the instances."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from controller.model.observed import EngineMetrics
from controller.model.status import InstanceStatus, State, Status, Truth
from observability.documents import draft_acceptance
from observability.families import counter, gauge, info
from observability.tally import Totals

_INSTANCE = ("rig", "instance")
_NOT_TOLD = EngineMetrics()


def instance_metrics(status: Status, totals: Totals) -> Iterator[Metric]:
    """Everything with the label `instance`."""
    yield from _counted(status.rig, totals)
    yield from _states(status)
    yield from _engines(status)


def _counted(rig: str, totals: Totals) -> Iterator[Metric]:
    actions = [((rig, *key), float(number)) for key, number in sorted(totals.actions.items())]
    yield counter("actions", "Actions that ended.", ("rig", "instance", "action", "result"), actions)
    restarts = [((rig, *key), float(number)) for key, number in sorted(totals.restarts.items())]
    yield counter("instance_restarts", "Engines that exited by themselves.", ("rig", "instance", "reason"), restarts)
    for kind, text in (("generation", "Tokens generated."), ("prompt", "Prompt tokens read.")):
        rows = [((rig, instance), total) for (instance, its), total in totals.tokens.items() if its == kind]
        yield counter(f"instance_{kind}_tokens", text, _INSTANCE, rows)


def _states(status: Status) -> Iterator[Metric]:
    rig, instances = status.rig, status.instances
    facts = [((rig, i.name), {"engine": i.engine, "model": i.model, "compose": i.compose}) for i in instances]
    yield info("instance", "What an instance is made of.", _INSTANCE, facts)
    states = [((rig, i.name, state.value), float(i.state is state)) for i in instances for state in State]
    yield gauge("instance_state", "1 for the state that an instance is in.", (*_INSTANCE, "state"), states)
    yield gauge("instance_ready", "1 while it serves.", _INSTANCE, [((rig, i.name), float(i.ready)) for i in instances])
    synced = [((rig, i.name), _synced(i)) for i in instances]
    yield gauge("instance_synced", "1 while it is as resolved.", _INSTANCE, synced)
    waived = [((rig, i.name, rule), 1.0) for i in instances for rule in i.waived]
    yield gauge("instance_waived", "1 for a rule that it breaks and that is waived.", (*_INSTANCE, "rule"), waived)
    boots = [((rig, i.name, "total"), i.boot_seconds) for i in instances]
    yield gauge("instance_boot_duration_seconds", "How long the last boot took.", (*_INSTANCE, "phase"), boots)


def _engines(status: Status) -> Iterator[Metric]:
    told = [((status.rig, i.name), i.metrics or _NOT_TOLD) for i in status.instances]
    tps = [((status.rig, i.name), i.tps) for i in status.instances]
    yield gauge("instance_decode_tokens_per_second", "Decode speed when it last had work.", _INSTANCE, tps)
    running = [(labels, m.running) for labels, m in told]
    yield gauge("instance_requests_running", "Requests under way.", _INSTANCE, running)
    waiting = [(labels, m.waiting) for labels, m in told]
    yield gauge("instance_requests_waiting", "Requests queued.", _INSTANCE, waiting)
    usage = [(labels, m.kv_usage) for labels, m in told]
    yield gauge("instance_kv_cache_usage_ratio", "Share of the KV cache in use.", _INSTANCE, usage)
    accepted = [(labels, draft_acceptance(m)) for labels, m in told]
    text = "Accepted of drafted tokens since the engine's start."
    yield gauge("instance_draft_acceptance_ratio", text, _INSTANCE, accepted)


def _synced(instance: InstanceStatus) -> float | None:
    values = {Truth.TRUE: 1.0, Truth.FALSE: 0.0}
    return next((values.get(c.status) for c in instance.conditions if c.type == "Synced"), None)
