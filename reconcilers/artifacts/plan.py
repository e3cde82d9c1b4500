"""Which images must be fetched. Pure."""

from __future__ import annotations

from controller.model.plan import Action, Cause, Step
from controller.model.reading import Unknown
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
            pulls[reference] = draft.add(_pull(instance, None))
    return pulls


def _needs_container(view: View, instance: ResolvedInstance) -> bool:
    wanted = view.wants_running(instance) and instance.bound and not view.failure(instance)
    return wanted and view.match(instance) is None


def _pull(instance: ResolvedInstance, waiting: str | None) -> Step:
    reference = instance.spec.image
    cause = Cause("image", "absent", reference)
    return Step(f"pull:{reference}", Action.PULL, instance.name, cause, target=reference, waiting_for=waiting)
