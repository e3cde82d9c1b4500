"""The state, conditions and one-line reason of a single instance. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from controller.model.desired import RunState
from controller.model.observed import Container, ContainerState
from controller.model.plan import Action, Plan, Step
from controller.model.reading import Known
from controller.model.resolved import ResolvedInstance
from controller.model.situation import Situation
from controller.model.status import Condition, InstanceStatus, LastAction, State, Truth
from controller.model.track import Failure, Track
from controller.rollout.overlay_standing import overlay_conditions

WILDCARD_TO_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


def instance_status(
    situation: Situation,
    instance: ResolvedInstance,
    plan: Plan,
    last_actions: Mapping[str, tuple[str, str, float]],
    in_flight: tuple[Step, ...],
    progress: Mapping[str, str],
) -> InstanceStatus:
    """How one instance stands; `progress` holds a sentence for each image that is being pulled."""
    container = current_of(situation, instance)
    track = situation.tracks.get(container.id) if container else None
    failure = situation.memory.failures.get((instance.name, instance.spec_hash))
    steps = plan.of(instance.name)
    ready = _is_ready(container, track)
    state = _state(situation, instance, container, track, failure, steps, in_flight)
    probe = situation.observed.probes.get(container.id) if container else None
    metrics = probe.metrics.value if probe and isinstance(probe.metrics, Known) else None
    identity = container.identity if container else None
    last = last_actions.get(instance.name)
    started = container.started_at if container and container.running else None
    restarts = situation.memory.restarts.get(instance.name)
    return InstanceStatus(
        name=instance.name,
        state=state,
        ready=ready,
        port=instance.spec.port,
        engine_id=container.id if container else "",
        spec_hash=identity.spec_hash if identity else instance.spec_hash,
        revision=identity.revision if identity else "",
        gpus=identity.gpus if identity else instance.spec.gpus,
        conditions=(
            *_conditions(situation, instance, container, track, failure, steps, ready=ready),
            *overlay_conditions(situation, instance, steps),
        ),
        last_action=LastAction(*last) if last else None,
        why=_why(situation, instance, state, failure, steps, track) or progress.get(instance.spec.image, ""),
        engine=instance.engine,
        model=instance.model or instance.serving.served_names[0] if instance.serving.served_names else instance.model or "",
        compose=instance.compose,
        base_url=f"http://{WILDCARD_TO_LOOPBACK.get(instance.spec.bind, instance.spec.bind)}:{instance.spec.port}/v1",
        tps=probe.decode_tps if probe else None,
        restarts=restarts.count if restarts else 0,
        age_s=max(0.0, situation.now.wall - started) if started else None,
        metrics=metrics,
        suspended_until=instance.live.suspend.until if instance.live.suspend else None,
        boot_seconds=track.ready_at - track.began if track and track.ready_at is not None else None,
        warnings=tuple(str(verdict) for verdict in instance.verdicts if verdict.is_against),
        waived=tuple(verdict.rule for verdict in instance.verdicts if verdict.waived),
    )


def match_of(situation: Situation, instance: ResolvedInstance) -> Container | None:
    """The container of the wanted spec, running before stopped, newest first."""
    mine = _containers(situation, instance)
    fitting = [c for c in mine if c.identity and instance.is_spec_of(c.identity)]
    return next((c for c in fitting if c.running), fitting[0] if fitting else None)


def current_of(situation: Situation, instance: ResolvedInstance) -> Container | None:
    """The container that stands for the instance now: whichever runs, else the wanted one."""
    mine = _containers(situation, instance)
    return next((c for c in mine if c.running), None) or match_of(situation, instance)


def _containers(situation: Situation, instance: ResolvedInstance) -> list[Container]:
    ours = situation.observed.ours(situation.resolved.rig.name)
    mine = [c for c in ours if c.identity and c.identity.instance == instance.name]
    return sorted(mine, key=lambda c: c.identity.generation if c.identity else 0, reverse=True)


def _is_ready(container: Container | None, track: Track | None) -> bool:
    running = container is not None and container.state is ContainerState.RUNNING
    return running and track is not None and track.ready_at is not None and track.serving


def _state(
    situation: Situation,
    instance: ResolvedInstance,
    container: Container | None,
    track: Track | None,
    failure: Failure | None,
    steps: tuple[Step, ...],
    in_flight: tuple[Step, ...],
) -> State:
    suspend = instance.live.suspend
    if suspend and suspend.until > situation.now.wall:
        return State.SUSPENDED
    doing = {s.action for s in in_flight if s.instance == instance.name} | {s.action for s in steps if _goes_on(s)}
    if Action.DRAIN in doing:
        return State.DRAINING
    if Action.STOP in doing:
        return State.STOPPING
    running = container is not None and container.running
    if failure and not _is_ready(container, track):
        return State.STALLED
    if instance.state is RunState.STOPPED or (_overridden(situation, instance) and not running):
        return State.STOPPED if not running else State.STOPPING
    if not running and any(step.waits_for_memory for step in steps):
        return State.WAITING_FOR_VRAM
    if not running:
        return State.PREPARING if doing & {Action.PULL, Action.CREATE} and not _waits(steps) else State.PENDING
    return _running_state(situation, instance, track)


def _running_state(situation: Situation, instance: ResolvedInstance, track: Track | None) -> State:
    if track is None or track.ready_at is None:
        return State.STARTING
    if not track.serving:
        return State.DEGRADED
    age = situation.now.mono - track.ready_at
    if age < instance.live.health.min_healthy and not _was_known(situation, track):
        return State.VERIFYING
    return State.READY


def _was_known(situation: Situation, track: Track) -> bool:
    """Ready already in an earlier life of Steward: its first half minute is not counted twice."""
    mark = situation.memory.ready_marks.get(track.container)
    return mark is not None and situation.now.wall - mark > situation.now.mono - (track.ready_at or 0.0) + 1.0


def _overridden(situation: Situation, instance: ResolvedInstance) -> bool:
    override = situation.memory.overrides.get(instance.name)
    return override is not None and (override.until is None or override.until > situation.now.wall)


def _goes_on(step: Step) -> bool:
    """Whether a step of the plan happens now: nothing comes before it and it waits for nothing else."""
    return not step.after and (step.begun if step.action is Action.DRAIN else step.waiting_for is None)


def _waits(steps: tuple[Step, ...]) -> bool:
    return bool(steps) and steps[0].waiting_for is not None


def _conditions(
    situation: Situation,
    instance: ResolvedInstance,
    container: Container | None,
    track: Track | None,
    failure: Failure | None,
    steps: tuple[Step, ...],
    *,
    ready: bool,
) -> tuple[Condition, ...]:
    synced = container is not None and container.identity is not None and not steps
    waiting = next((s.waiting_for for s in steps if s.waiting_for), "")
    drifted = container is not None and container.id in situation.memory.off_since
    stalled = failure is not None
    healthy = Truth.UNKNOWN if track is None or track.ready_at is None else (Truth.TRUE if track.serving else Truth.FALSE)
    suspend = instance.live.suspend
    suspended = suspend is not None and suspend.until > situation.now.wall
    left = f"{len(steps)} step(s) left" if steps else ""
    return (
        Condition("Ready", _truth(ready), "Serving" if ready else "NotServing", waiting or ""),
        Condition("Synced", _truth(synced), "AsResolved" if synced else "StepsLeft", left),
        Condition("Progressing", _truth(bool(steps) and not stalled), "StepsLeft" if steps else "Idle", waiting or ""),
        Condition("Healthy", healthy, {Truth.TRUE: "Answers", Truth.FALSE: "NoAnswer"}.get(healthy, "NotReadyYet")),
        Condition("Stalled", _truth(stalled), failure.reason if failure else "None", failure.message if failure else ""),
        Condition("Suspended", _truth(suspended), "Suspended" if suspended else "None", suspend.reason if suspend else ""),
        Condition("Drifted", _truth(drifted), "ChangedByHand" if drifted else "None"),
    )


def _truth(value: bool) -> Truth:
    return Truth.TRUE if value else Truth.FALSE


def _why(
    situation: Situation,
    instance: ResolvedInstance,
    state: State,
    failure: Failure | None,
    steps: tuple[Step, ...],
    track: Track | None,
) -> str:
    if state is State.SUSPENDED and instance.live.suspend:
        return instance.live.suspend.reason
    if failure:
        return f"{failure.reason}: {failure.message}; not tried again until the spec changes or `steward start {instance.name}`"
    waiting = next((f"{s.action} waits for {s.waiting_for}" for s in steps if s.waiting_for), "")
    if waiting:
        return waiting
    override = situation.memory.overrides.get(instance.name)
    if override and _overridden(situation, instance):
        return f"{override.verb} by {override.who or 'somebody'}" + (f": {override.reason}" if override.reason else "")
    if state is State.DEGRADED and track:
        probe = situation.observed.probes.get(track.container)
        return f"{track.misses} probes in a row without a good answer" + (
            f" ({probe.detail})" if probe and probe.detail else ""
        )
    return ""
