"""Which of the wanted images and files of overlays are there."""

from __future__ import annotations

from controller.errors import EnvironmentFault
from controller.model.desired import RunState
from controller.model.observed import Container, Image
from controller.model.reading import Known, Reading, Unknown
from controller.model.resolved import Resolved, ResolvedInstance
from controller.model.track import Memory
from controller.ports import Images, Payloads


def observe_images(
    images: Images, resolved: Resolved, memory: Memory, containers: tuple[Container, ...]
) -> dict[str, Reading[Image | None]]:
    """The local image behind each reference that an instance without a container of its spec needs."""
    existing = {(c.identity.instance, c.identity.spec_hash) for c in containers if c.identity}
    found: dict[str, Reading[Image | None]] = {}
    for instance in resolved.instances:
        if instance.state is RunState.RUNNING and (instance.name, instance.spec_hash) not in existing:
            found.setdefault(instance.spec.image, _inspect(images, instance, memory))
    return found


def observe_payloads(payloads: Payloads, resolved: Resolved, containers: tuple[Container, ...]) -> dict[str, Reading[bool]]:
    """The files that an instance needs whose wanted container does not run."""
    running = {(c.identity.instance, c.identity.spec_hash) for c in containers if c.identity and c.running}
    found: dict[str, Reading[bool]] = {}
    for instance in resolved.instances:
        if instance.state is RunState.RUNNING and (instance.name, instance.spec_hash) not in running:
            for need in instance.payloads:
                if need.payload is not None and need.payload.key not in found:
                    found[need.payload.key] = payloads.has(need.payload.key)
    return found


def _inspect(images: Images, instance: ResolvedInstance, memory: Memory) -> Reading[Image | None]:
    """The pinned image where this spec has one and it is still here, else whatever the reference names now."""
    pinned = memory.image_pins.get((instance.name, instance.spec_hash))
    try:
        kept = images.inspect(pinned) if pinned else None
        return Known(kept if kept is not None else images.inspect(instance.spec.image))
    except EnvironmentFault as fault:
        return Unknown(str(fault))
