"""What is left to do for one instance's containers. Pure.

The order holds for every replacement: everything that can fail comes before the old engine is stopped (pull, create, the
port), then drain, stop, start, and only when the new one is ready are older leftovers removed.
"""

from __future__ import annotations

from controller.model.identity import Identity
from controller.model.observed import Container, ContainerState
from controller.model.plan import Action, Cause, CreateRequest, Step
from controller.model.resolved import ResolvedInstance
from reconcilers.draft import Draft
from reconcilers.engines.cause import spec_cause
from reconcilers.engines.drift import drift_steps, free_name
from reconcilers.engines.leave import leave, remove_surplus
from reconcilers.engines.start import start_step
from reconcilers.view import View, cards_unknown


def instance_steps(view: View, draft: Draft, instance: ResolvedInstance, pulls: tuple[str, ...]) -> None:
    """Add the steps of one desired instance; `pulls` are the ids of the steps that bring what its container needs."""
    mine = view.of(instance.name)
    if not view.wants_running(instance):
        _stay_stopped(view, draft, instance, mine)
    elif not instance.bound:
        _wait_for_cards(view, draft, instance, mine)
    elif view.failure(instance):
        _give_up(view, draft, instance)
    else:
        _converge(view, draft, instance, mine, pulls)


def _stay_stopped(view: View, draft: Draft, instance: ResolvedInstance, mine: tuple[Container, ...]) -> None:
    override = view.override_text(instance.name)
    cause = Cause("override", "running", override) if override else Cause("state", "running", "stopped")
    for container in mine:
        if container.running:
            leave(view, draft, container, cause, instance.live.drain)


def _wait_for_cards(view: View, draft: Draft, instance: ResolvedInstance, mine: tuple[Container, ...]) -> None:
    if any(container.running for container in mine):
        draft.notes.append(f"{instance.name}: left as it is, its cards are not readable")
        return
    reason = f"cards not readable: {cards_unknown(view) or 'no binding'}"
    cause = Cause("instance", "", "added")
    draft.add(Step(f"create:{instance.name}", Action.CREATE, instance.name, cause, waiting_for=reason))


def _give_up(view: View, draft: Draft, instance: ResolvedInstance) -> None:
    """A failed boot leaves its container stopped; whatever else runs for the instance stays as it is."""
    match = view.match(instance)
    failure = view.failure(instance)
    if match and match.running and not view.ready(match) and failure:
        leave(view, draft, match, Cause("boot", "loading", f"{failure.reason}"), instance.live.drain)


def _converge(
    view: View, draft: Draft, instance: ResolvedInstance, mine: tuple[Container, ...], pulls: tuple[str, ...]
) -> None:
    match = view.match(instance)
    others = tuple(c for c in mine if match is None or c.id != match.id)
    before = (_create(view, draft, instance, others, pulls),) if match is None else pulls
    if match is not None and match.running:
        _keep_running(view, draft, instance, match, others)
    else:
        _bring_up(view, draft, instance, match, others, before)
    ready = match is not None and view.ready(match)
    remove_surplus(view, draft, instance, others, after_ready=ready)


def _create(view: View, draft: Draft, instance: ResolvedInstance, others: tuple[Container, ...], pulls: tuple[str, ...]) -> str:
    request = create_request(view, instance)
    freed, waiting = free_name(view, draft, instance.name, request.name)
    step = Step(
        id=f"create:{instance.name}",
        action=Action.CREATE,
        instance=instance.name,
        cause=spec_cause(view, instance, others),
        after=(*pulls, *freed),
        waiting_for=waiting,
        spec_hash=instance.spec_hash,
        create=request,
    )
    return draft.add(step)


def create_request(view: View, instance: ResolvedInstance) -> CreateRequest:
    """Labels, name, spec and image of the container to create."""
    memory, key = view.situation.memory, (instance.name, instance.spec_hash)
    image_id = memory.image_pins.get(key, "")
    local = view.situation.observed.images.get(instance.spec.image)
    seen = getattr(local, "value", None)
    identity = Identity(
        rig=view.situation.resolved.rig.name,
        instance=instance.name,
        spec_hash=instance.spec_hash,
        generation=memory.open_creates.get(key) or _next_generation(view, instance.name),
        revision=view.situation.resolved.revision,
        gpus=instance.spec.gpus,
        image_id=image_id or (seen.id if seen else ""),
        secret_key=instance.secret_key,
        spec_hash_plain=instance.spec_hash_plain,
    )
    cache = view.situation.resolved.rig.paths.engine_cache
    return CreateRequest(identity, identity.container_name(), instance.spec, identity.image_id, cache, instance.dialect)


def _next_generation(view: View, name: str) -> int:
    seen = [c.identity.generation for c in view.of(name) if c.identity]
    return 1 + max([*seen, view.situation.memory.generations.get(name, 0)])


def _bring_up(
    view: View,
    draft: Draft,
    instance: ResolvedInstance,
    match: Container | None,
    others: tuple[Container, ...],
    before: tuple[str, ...],
) -> None:
    """`before` are the steps that come before anything is stopped."""
    blocked, blocker = view.port_holder(instance.spec.port, instance.spec.bind, instance.name)
    ours_to_go = blocker is not None and draft_will_stop(view, blocker)
    waiting = blocked if blocked and not ours_to_go else None
    cause = spec_cause(view, instance, others)
    stops = [
        leave(view, draft, old, cause, instance.live.drain, after=before, waiting=waiting) for old in others if old.running
    ]
    start = start_step(view, draft, instance, match, after=(*before, *stops), waiting=waiting)
    wait = Step(
        id=f"wait-ready:{instance.name}",
        action=Action.WAIT_READY,
        instance=instance.name,
        cause=Cause("readiness", "", "first completion"),
        after=(start,),
        spec_hash=instance.spec_hash,
    )
    draft.add(wait)


def draft_will_stop(view: View, container: Container) -> bool:
    """Whether a running container of ours is on its way out: an orphan, stopped by the file, or of an old spec."""
    identity = container.identity
    if identity is None or identity.rig != view.situation.resolved.rig.name:
        return False
    owner = view.situation.resolved.get(identity.instance)
    if owner is None or not view.wants_running(owner):
        return True
    match = view.match(owner)
    return owner.bound and not view.failure(owner) and (match is None or match.id != container.id)


def _keep_running(
    view: View, draft: Draft, instance: ResolvedInstance, match: Container, others: tuple[Container, ...]
) -> None:
    for other in others:
        if other.running:
            leave(view, draft, other, Cause("containers", "two running", "one"), instance.live.drain)
    drift_steps(view, draft, instance, match)
    if match.state is ContainerState.RUNNING and not view.ready(match):
        probe = view.situation.observed.probes.get(match.id)
        waiting = f"{probe.phase}: {probe.detail}".rstrip(": ") if probe else "its first answer"
        cause = Cause("readiness", "", "first completion")
        draft.add(
            Step(
                id=f"wait-ready:{instance.name}",
                action=Action.WAIT_READY,
                instance=instance.name,
                cause=cause,
                target=match.id,
                waiting_for=waiting,
                spec_hash=instance.spec_hash,
            )
        )
