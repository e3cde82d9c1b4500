"""Is the Docker engine there, and fit for engines that need cards and large images? Pure."""

from __future__ import annotations

from typing import Final

from controller.adapters.doctor.facts import MachineFacts
from controller.adapters.doctor.finding import Finding, Health, gib
from controller.model.reading import Known, Reading, Unknown
from controller.ports import EngineFacts

_LEAST_API: Final = (1, 40)
"""The first that knows device requests, by which cards are handed out."""
_LOW_IMAGES: Final = 40 * 2**30
"""An engine's image takes 10 to 25 GiB unpacked, and the old one is kept while the new one is pulled."""
_NO_IMAGES: Final = 5 * 2**30


def engine_findings(facts: MachineFacts) -> tuple[Finding, ...]:
    """Everything about the engine, or that it cannot be reached."""
    if isinstance(facts.engine, Unknown):
        hint = "start it (`systemctl start docker`), set DOCKER_HOST, or join the group that owns its socket"
        return (Finding("docker", Health.FAIL, facts.engine.reason, hint),)
    engine = facts.engine.value
    return (_version(engine), _cgroup(engine), _storage(engine), _runtime(facts, engine), _disk(facts.engine_disk))


def _version(engine: EngineFacts) -> Finding:
    detail = f"Docker {engine.version}, API {engine.api}, {engine.ncpu} CPUs, {gib(engine.memory)} RAM"
    if _numbers(engine.api) < _LEAST_API:
        return Finding("docker", Health.FAIL, detail, "Docker 19.03 or newer is needed (API 1.40: device requests)")
    return Finding("docker", Health.OK, detail)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isascii() and part.isdigit())


def _cgroup(engine: EngineFacts) -> Finding:
    match engine.cgroup_version:
        case "2":
            return Finding("cgroup", Health.OK, "version 2")
        case "1":
            detail = "version 1, which Docker and systemd are giving up"
            return Finding("cgroup", Health.WARN, detail, "boot with `systemd.unified_cgroup_hierarchy=1`")
        case _:
            return Finding("cgroup", Health.UNKNOWN, "the engine does not tell its cgroup version")


def _storage(engine: EngineFacts) -> Finding:
    if engine.storage_driver == "vfs":
        hint = "use overlay2: each layer of a large image is copied whole now"
        return Finding("docker storage", Health.WARN, "driver vfs", hint)
    return Finding("docker storage", Health.OK, f"driver {engine.storage_driver or 'not told'}")


def _runtime(facts: MachineFacts, engine: EngineFacts) -> Finding:
    if "nvidia" in engine.runtimes:
        return Finding("nvidia runtime", Health.OK, "registered with the engine")
    cards = facts.cards.cards
    if not isinstance(cards, Known) or not cards.value:
        return Finding("nvidia runtime", Health.OK, "not registered, and no readable card needs it")
    hint = "install nvidia-container-toolkit and run `nvidia-ctk runtime configure --runtime=docker`, then restart Docker"
    return Finding(
        "nvidia runtime", Health.WARN, "not registered; cards are handed out only if the engine finds its hook", hint
    )


def _disk(free: Reading[int]) -> Finding:
    if isinstance(free, Unknown):
        return Finding("docker disk", Health.UNKNOWN, free.reason)
    detail, hint = f"{gib(free.value)} free", "remove images that no instance uses: `docker image prune`"
    if free.value < _NO_IMAGES:
        return Finding("docker disk", Health.FAIL, detail, hint)
    if free.value < _LOW_IMAGES:
        return Finding("docker disk", Health.WARN, f"{detail}; a new engine image takes 10 to 25 GiB", hint)
    return Finding("docker disk", Health.OK, detail)
