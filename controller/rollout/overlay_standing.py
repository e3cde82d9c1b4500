"""How the overlays of an instance stand: whether their files are there, and whether they are at work in its container. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from controller.model.observed import Container
from controller.model.payload import OverlayUse
from controller.model.plan import Step
from controller.model.resolved import ResolvedInstance
from controller.model.situation import Situation
from controller.model.status import Condition, Truth
from controller.model.track import Sighting

NO_SENTINEL = "NoSentinel"
"""Reason of a condition that says only what its record lacks; it holds from the first day on and is no news."""
NOT_LOOKED = "NotLookedYet"


def unseen(situation: Situation, instance: ResolvedInstance) -> tuple[Container | None, tuple[OverlayUse, ...]]:
    """The ready container of the wanted spec, and its overlays whose sentinel was not looked for yet."""
    container = _ready(situation, instance)
    if container is None:
        return None, ()
    return container, tuple(use for use in instance.overlays if use.sentinel and _seen(situation, container, use) is None)


def overlay_conditions(situation: Situation, instance: ResolvedInstance, steps: tuple[Step, ...]) -> Iterator[Condition]:
    """What is worth saying of an instance with overlays; nothing of one without."""
    if instance.overlays:
        yield _payloads(steps)
        yield _at_work(situation, instance)


def _payloads(steps: tuple[Step, ...]) -> Condition:
    lacking = [step.need for step in steps if step.need is not None and step.need.remedy]
    if not lacking:
        return Condition("OverlayPayloadMissing", Truth.FALSE, "None")
    message = "; ".join(f"the files of overlay {need.name} are not there: {need.remedy}" for need in lacking)
    return Condition("OverlayPayloadMissing", Truth.TRUE, "NotFetched", message)


def _at_work(situation: Situation, instance: ResolvedInstance) -> Condition:
    container = _ready(situation, instance)
    if container is None:
        return _unverified(Truth.UNKNOWN, NOT_LOOKED, "it is looked for once the engine is ready")
    known = [(use, _seen(situation, container, use)) for use in instance.overlays if use.sentinel]
    missing = [seen for _, seen in known if seen is not None and seen.found is False]
    if missing:
        return _unverified(Truth.TRUE, "SentinelMissing", "; ".join(_missing_text(seen) for seen in missing))
    silent = [seen for _, seen in known if seen is not None and seen.found is None]
    if silent:
        text = "; ".join(f"overlay {seen.overlay} cannot be looked for: {seen.detail}" for seen in silent)
        return _unverified(Truth.UNKNOWN, "NotReadable", text)
    if any(seen is None for _, seen in known):
        return _unverified(Truth.UNKNOWN, NOT_LOOKED, "it has not been looked for yet")
    bare = [use.id for use in instance.overlays if not use.sentinel]
    if bare:
        return _unverified(Truth.TRUE, NO_SENTINEL, f"no sentinel tells whether these are at work: {', '.join(bare)}")
    return _unverified(Truth.FALSE, "Found", "")


def _missing_text(seen: Sighting) -> str:
    return f"overlay {seen.overlay} is not at work: `{seen.sentinel}` is in none of its files"


def _unverified(status: Truth, reason: str, message: str) -> Condition:
    return Condition("OverlayUnverified", status, reason, message)


def _ready(situation: Situation, instance: ResolvedInstance) -> Container | None:
    """The running container of the wanted spec once it is ready."""
    for container in situation.observed.ours(situation.resolved.rig.name):
        identity, track = container.identity, situation.tracks.get(container.id)
        wanted = identity is not None and identity.instance == instance.name and instance.is_spec_of(identity)
        if wanted and container.running and track is not None and track.ready_at is not None:
            return container
    return None


def _seen(situation: Situation, container: Container, use: OverlayUse) -> Sighting | None:
    """What was found of an overlay; nothing where its record has another sentinel since."""
    seen = situation.memory.sightings.get((container.id, use.id))
    return seen if seen is not None and seen.sentinel == use.sentinel else None
