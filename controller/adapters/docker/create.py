"""From a create request to the engine's document. Pure, so that every key that reaches the engine can be tested as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from docker.types import ContainerConfig, DeviceRequest, Healthcheck, HostConfig, LogConfig, Ulimit
from docker.types import Mount as SdkMount

from controller.model.plan import CreateRequest
from controller.model.resolved import ContainerSpec, Mount

ENGINE_CACHE: Final = "${STEWARD_ENGINE_CACHE}"
LOG_LIMITS: Final = {"max-size": "20m", "max-file": "3"}
"""An engine that logs every request must not fill the disk: 60 MB hold days of a busy server."""
_NANO: Final = 1_000_000_000
_SHORT: Final = 12


def needs_image_id(spec: ContainerSpec) -> bool:
    """Whether the document cannot be written without the image's id: the engine cache has a folder per image."""
    return any(ENGINE_CACHE in mount.source for mount in spec.mounts)


def container_document(
    request: CreateRequest, env: Mapping[str, str], argv: Sequence[str], image_id: str, api: str
) -> dict[str, Any]:
    """The body of the create call, for the engine's API version `api`."""
    spec = request.spec
    config = ContainerConfig(
        api,
        request.image_id or spec.image,
        list(argv),
        detach=True,
        environment=environment(spec, env),
        labels=request.identity.labels(),
        ports=[(str(spec.container_port), "tcp")],
        entrypoint=None if spec.entrypoint is None else list(spec.entrypoint),
        user=spec.user,
        working_dir=spec.working_dir,
        # an image's own check may ask a port that the spec moved, and floods the event log with its execs
        healthcheck=Healthcheck(test=["NONE"]),
        host_config=_host_config(request, image_id, api),
    )
    if not argv:
        config["Cmd"] = None  # the image's own
    return {key: value for key, value in config.items() if value is not None}


def environment(spec: ContainerSpec, env: Mapping[str, str]) -> dict[str, str]:
    """The spec's environment with what keeps cards apart: bus order inside, and no card at all for an instance without."""
    keeper = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"} if spec.gpus else {"NVIDIA_VISIBLE_DEVICES": "void"}
    return {**keeper, **env}


def mount_source(mount: Mount, cache_root: str, image_id: str) -> str:
    """Where a bind mount begins on the host."""
    folder = f"{cache_root.rstrip('/')}/{image_id.removeprefix('sha256:')[:_SHORT]}"
    return mount.source.replace(ENGINE_CACHE, folder)


def _host_config(request: CreateRequest, image_id: str, api: str) -> HostConfig:
    spec = request.spec
    return HostConfig(
        version=api,
        init=True,
        restart_policy={"Name": "no"},
        log_config=LogConfig(type=LogConfig.types.JSON, config=LOG_LIMITS),
        port_bindings={f"{spec.container_port}/tcp": (spec.bind, spec.port)},
        binds=_cache_binds(request, image_id) or None,
        mounts=_plain_mounts(spec) or None,
        shm_size=spec.shm_bytes,
        ipc_mode=spec.ipc,
        ulimits=[Ulimit(name=limit.name, soft=limit.soft, hard=limit.hard) for limit in spec.ulimits] or None,
        cap_add=list(spec.cap_add) or None,
        cap_drop=list(spec.cap_drop) or None,
        devices=list(spec.devices) or None,
        tmpfs=dict(_tmpfs(entry) for entry in spec.tmpfs) or None,
        extra_hosts=list(spec.extra_hosts) or None,
        security_opt=list(spec.security_opt) or None,
        read_only=spec.read_only,
        mem_limit=spec.mem_limit_bytes,
        nano_cpus=None if spec.cpus is None else round(spec.cpus * _NANO),
        device_requests=_device_requests(spec) or None,
    )


def _device_requests(spec: ContainerSpec) -> list[DeviceRequest]:
    """Cards by UUID: indices change with the slots, and inside the container they count from 0 anyway."""
    if not spec.gpus:
        return []
    return [DeviceRequest(driver="nvidia", device_ids=list(spec.gpus), capabilities=[["gpu"]])]


def _cache_binds(request: CreateRequest, image_id: str) -> list[str]:
    """The engine caches, whose folders the engine makes when they are missing."""
    return [
        f"{mount_source(mount, request.engine_cache_root, image_id)}:{mount.target}:{'ro' if mount.read_only else 'rw'}"
        for mount in request.spec.mounts
        if ENGINE_CACHE in mount.source
    ]


def _plain_mounts(spec: ContainerSpec) -> list[SdkMount]:
    """All others, which must exist: an empty folder in place of the models would only fail later and darker."""
    return [
        SdkMount(mount.target, mount.source, type="bind", read_only=mount.read_only)
        for mount in spec.mounts
        if ENGINE_CACHE not in mount.source
    ]


def _tmpfs(entry: str) -> tuple[str, str]:
    path, _, options = entry.partition(":")
    return path, options
