"""The container of one instance: the template's service with variables expanded, and the origin of each value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from controller.model.desired import Paths
from controller.model.resolved import ContainerSpec, Mount, Origin, Secretive
from controller.resolve.environment import Variable
from controller.resolve.origins import COMPOSE, origin
from controller.resolve.service import ENGINE
from controller.resolve.template import Template
from controller.resolve.variables import ENGINE_CACHE, expanded

_LISTS: Final = ("cap_add", "cap_drop", "devices", "tmpfs", "extra_hosts", "security_opt")
_SHOWN: Final = (
    "command", "entrypoint", "shm_size", "ipc", "user", "ulimits", *_LISTS, "working_dir", "read_only", "mem_limit", "cpus",
)  # fmt: skip
"""Keys of the service that `explain` shows as they are written there."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What of the container does not come from the service: decided by the entry, the profile and the dialect."""

    image: str
    argv: tuple[Secretive, ...]
    port: int
    container_port: int
    bind: str
    networks: tuple[str, ...]
    env: tuple[Variable, ...]


def variables_of(instance: str, container_port: int, paths: Paths) -> Mapping[str, str]:
    """The values of Steward's variables; the engine cache stands for itself until create."""
    return {
        "STEWARD_MODELS": paths.models.rstrip("/") or "/",
        "STEWARD_HF_CACHE": paths.hf_cache.rstrip("/") or "/",
        "STEWARD_INSTANCE": instance,
        "STEWARD_PORT": str(container_port),
        ENGINE_CACHE: f"${{{ENGINE_CACHE}}}",
    }


def container_spec(template: Template, outside: Outside, values: Mapping[str, str]) -> ContainerSpec:
    """Everything that reaches create but the cards."""
    parts, service = template.parts, template.parts.service
    texts = {key: tuple(expanded(text, values) for text in getattr(service, key)) for key in _LISTS}
    return ContainerSpec(
        image=outside.image,
        argv=outside.argv,
        port=outside.port,
        container_port=outside.container_port,
        bind=outside.bind,
        entrypoint=None if service.entrypoint is None else tuple(expanded(text, values) for text in service.entrypoint),
        env=tuple((variable.name, variable.value) for variable in outside.env if variable.value is not None),
        mounts=tuple(_mounts(template, values)),
        networks=outside.networks,
        shm_bytes=parts.shm_bytes,
        ipc=service.ipc,
        user=None if service.user is None else expanded(service.user, values),
        ulimits=parts.ulimits,
        working_dir=None if service.working_dir is None else expanded(service.working_dir, values),
        read_only=service.read_only,
        mem_limit_bytes=parts.mem_limit_bytes,
        cpus=None if service.cpus is None else float(service.cpus),
        **texts,
    )


def _mounts(template: Template, values: Mapping[str, str]) -> Iterator[Mount]:
    for volume in sorted(template.parts.volumes, key=lambda volume: volume.target):
        yield Mount(expanded(volume.source, values), expanded(volume.target, values), volume.read_only)


def service_origins(template: Template, env: tuple[Variable, ...], values: Mapping[str, str]) -> dict[str, Origin]:
    """Environment, mounts and the other keys of the service, with where they stand."""
    found = {f"env.{v.name}": origin(v.value, v.place, v.source) for v in env}
    for volume in sorted(template.parts.volumes, key=lambda volume: volume.target):
        text = expanded(volume.source, values) + (" (read-only)" if volume.read_only else "")
        found[f"volumes.{expanded(volume.target, values)}"] = Origin(text, volume.place, COMPOSE)
    service = template.parts.service
    for key in _SHOWN:
        if key in service.model_fields_set and (value := getattr(service, key)) is not None:
            found[key] = origin(_expanded(value, values), template.place(*ENGINE, key), COMPOSE)
    return found


def _expanded(value: object, values: Mapping[str, str]) -> object:
    if isinstance(value, tuple):
        return tuple(expanded(text, values) for text in value)
    return expanded(value, values) if isinstance(value, str) else value
