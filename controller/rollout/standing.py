"""How each instance stands, in states and conditions, from the same inputs that the plan was made from. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.model.moment import Instant
from controller.model.observed import Container
from controller.model.plan import Plan, Step
from controller.model.problem import Problem, has_errors
from controller.model.reading import Known, Unknown
from controller.model.resolved import Resolved
from controller.model.rig import Card
from controller.model.situation import Situation
from controller.model.status import Condition, Status, Truth
from controller.rollout.instance_standing import instance_status


@dataclass(frozen=True, slots=True)
class Outside:
    """What a status tells beyond the situation: the source, the journal, and the actions under way."""

    desired: str = ""
    accepted: str = ""
    source_ok: bool = True
    problems: tuple[Problem, ...] = ()
    history_lost: bool = False
    last_actions: Mapping[str, tuple[str, str, float]] = field(default_factory=dict)
    in_flight: tuple[Step, ...] = ()
    progress: Mapping[str, str] = field(default_factory=dict)


def standing(situation: Situation, plan: Plan, outside: Outside) -> Status:
    """The status of the rig after a pass."""
    instances = tuple(
        instance_status(situation, instance, plan, outside.last_actions, outside.in_flight, outside.progress)
        for instance in situation.resolved.instances
    )
    cards = situation.observed.cards.cards
    stalled = any(_is_true(i.conditions, "Stalled") for i in instances)
    settled = not plan.steps and not plan.notes and not outside.in_flight and not stalled
    return Status(
        rig=situation.resolved.rig.name,
        at=situation.now,
        desired=outside.desired,
        accepted=outside.accepted,
        converged=settled and outside.source_ok and outside.desired == outside.accepted and not has_errors(outside.problems),
        conditions=(*_rig_conditions(outside), *_reading_conditions(situation), *_owner_conditions(situation, outside)),
        instances=instances,
        cards=cards.value if isinstance(cards, Known) else (),
        plan=plan,
        problems=outside.problems,
        mode=situation.resolved.rig.mode.value,
        card_users=_card_users(situation.resolved),
    )


def standing_without(now: Instant, outside: Outside, cards: tuple[Card, ...]) -> Status:
    """The status while no revision has ever been accepted."""
    return Status(
        rig="rig",
        at=now,
        desired=outside.desired,
        accepted="",
        converged=False,
        conditions=_rig_conditions(outside),
        cards=cards,
        problems=outside.problems,
    )


def _rig_conditions(outside: Outside) -> tuple[Condition, ...]:
    first = outside.problems[0] if outside.problems else None
    text = f"{first.place}: {first.message}" if first and first.place else (first.message if first else "")
    more = f" (and {len(outside.problems) - 1} more)" if len(outside.problems) > 1 else ""
    if not outside.source_ok:
        source = Condition("SourceReady", Truth.FALSE, "Unreadable", text + more)
    else:
        source = Condition("SourceReady", Truth.TRUE, "Read", "")
    refused = has_errors(outside.problems) or not outside.source_ok
    if refused:
        config = Condition("ConfigAccepted", Truth.FALSE, "Refused", text + more)
    elif outside.desired != outside.accepted:
        config = Condition("ConfigAccepted", Truth.UNKNOWN, "NotJudged", "the newest revision has not been judged yet")
    else:
        config = Condition("ConfigAccepted", Truth.TRUE, "Accepted", "")
    return source, config


def _reading_conditions(situation: Situation) -> tuple[Condition, ...]:
    containers, cards = situation.observed.containers, situation.observed.cards.cards
    engine = (
        Condition("EngineReachable", Truth.FALSE, "Unreachable", containers.reason)
        if isinstance(containers, Unknown)
        else Condition("EngineReachable", Truth.TRUE, "Answers")
    )
    gpus = (
        Condition("GpusReadable", Truth.FALSE, "Unreadable", cards.reason)
        if isinstance(cards, Unknown)
        else Condition("GpusReadable", Truth.TRUE, "Read")
    )
    return engine, gpus


def _owner_conditions(situation: Situation, outside: Outside) -> tuple[Condition, ...]:
    conditions = []
    if outside.history_lost and situation.observed.ours(situation.resolved.rig.name):
        text = "the store was made anew while containers of this rig exist; they are kept, their past is not known"
        conditions.append(Condition("HistoryLost", Truth.TRUE, "StoreNew", text))
    if elsewhere := _other_rigs(situation):
        conditions.append(Condition("RigNameChanged", Truth.TRUE, "OtherRigName", elsewhere))
    return tuple(conditions)


def _other_rigs(situation: Situation) -> str:
    """Containers that carry our instances' names under another rig name; nothing of them is touched."""
    containers, rig = situation.observed.containers, situation.resolved.rig.name
    wanted = {instance.name for instance in situation.resolved.instances}
    found: list[Container] = [
        c
        for c in (containers.value if isinstance(containers, Known) else ())
        if c.identity and c.identity.rig != rig and c.identity.instance in wanted
    ]
    if not found:
        return ""
    rigs = sorted({c.identity.rig for c in found if c.identity})
    names = ", ".join(sorted(c.name for c in found))
    return f"containers of rig {', '.join(rigs)} have the names of this rig's instances and are left alone: {names}"


def _card_users(resolved: Resolved) -> dict[str, tuple[str, ...]]:
    users: dict[str, list[str]] = {}
    for instance in resolved.instances:
        for uuid in instance.spec.gpus:
            users.setdefault(uuid, []).append(instance.name)
    return {uuid: tuple(names) for uuid, names in users.items()}


def _is_true(conditions: tuple[Condition, ...], kind: str) -> bool:
    return any(c.type == kind and c.status is Truth.TRUE for c in conditions)
