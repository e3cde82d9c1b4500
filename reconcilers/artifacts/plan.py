"""Which images and files of overlays must be brought before a container can be made. Pure."""

from __future__ import annotations

from controller.model.payload import PayloadNeed
from controller.model.plan import Action, Cause, Step
from controller.model.reading import Known, Unknown
from controller.model.resolved import ResolvedInstance
from reconcilers.draft import Draft
from reconcilers.view import View


def image_steps(view: View, draft: Draft) -> dict[str, str]:
    """Add one pull for each image that a wanted container lacks; step ids by image reference."""
    pulls: dict[str, str] = {}
    for instance in view.situation.resolved.instances:
        reference = instance.spec.image
        if not _needs_container(view, instance) or reference in pulls:
            continue
        reading = view.situation.observed.images.get(reference, Unknown("not looked for yet"))
        if isinstance(reading, Unknown):
            pulls[reference] = draft.add(_pull(instance, f"the list of local images: {reading.reason}"))
        elif reading.value is None:
            pulls[reference] = draft.add(_pull(instance, _local_copy(instance)))
    return pulls


def payload_steps(view: View, draft: Draft, instance: ResolvedInstance) -> tuple[str, ...]:
    """Add one pull for each overlay's files that are not there; the steps' ids.

    Those that Steward has itself are put in place; all others wait for a person, and nothing is stopped meanwhile.
    """
    match = view.match(instance)
    if not _is_wanted(view, instance) or (match is not None and match.running):
        return ()
    missing = (_payload_pull(view, instance, need) for need in instance.payloads)
    return tuple(draft.add(step) for step in missing if step is not None)


def _payload_pull(view: View, instance: ResolvedInstance, need: PayloadNeed) -> Step | None:
    key = need.payload.key if need.payload else ""
    reading = view.situation.observed.payloads.get(key, Unknown("not looked for yet")) if key else Known(False)
    if reading == Known(True):
        return None
    waiting = f"the files of overlay {need.name}: {need.remedy}" if need.remedy else None
    if isinstance(reading, Unknown):
        waiting = f"the files of overlays: {reading.reason}"
    cause = Cause("overlay", "absent", need.name)
    step_id = f"pull:{instance.name}:{need.name}"
    return Step(step_id, Action.PULL, instance.name, cause, target=key, waiting_for=waiting, need=need)


def _local_copy(instance: ResolvedInstance) -> str | None:
    """What a pull waits for that its registry would refuse; nothing is stopped meanwhile."""
    return f"a local copy of the image: {instance.unpullable}" if instance.unpullable else None


def _needs_container(view: View, instance: ResolvedInstance) -> bool:
    return _is_wanted(view, instance) and view.match(instance) is None


def _is_wanted(view: View, instance: ResolvedInstance) -> bool:
    return view.wants_running(instance) and instance.bound and not view.failure(instance)


def _pull(instance: ResolvedInstance, waiting: str | None) -> Step:
    reference = instance.spec.image
    cause = Cause("image", "absent", reference)
    return Step(f"pull:{reference}", Action.PULL, instance.name, cause, target=reference, waiting_for=waiting)
