"""The digest that tells whether a container still is what its instance resolves to.

Every field that reaches create is named here by hand, so that neither a new field nor a renamed one changes the hash of a
running engine by accident; a change on purpose comes with a new SPEC_VERSION.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeAlias

from controller.model.fields import SecretRef
from controller.model.identity import SPEC_VERSION
from controller.model.resolved import ContainerSpec, Secretive

SecretDigest: TypeAlias = Callable[[str], str]


def spec_hash(spec: ContainerSpec, secret_digest: SecretDigest | None = None) -> str:
    """64 hex digits over the spec; with `secret_digest` a secret counts by its value's digest, without by its name only."""

    def secretive(value: Secretive) -> Any:
        if not isinstance(value, SecretRef):
            return value
        return {"secret": value.secret} | ({"digest": secret_digest(value.secret)} if secret_digest else {})

    canonical = json.dumps(_fields(spec, secretive), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def secrets_of(spec: ContainerSpec) -> tuple[str, ...]:
    """Names of the secrets in a spec, each once."""
    values = (*spec.argv, *(value for _, value in spec.env))
    return tuple(dict.fromkeys(value.secret for value in values if isinstance(value, SecretRef)))


def _fields(spec: ContainerSpec, secretive: Callable[[Secretive], Any]) -> dict[str, Any]:
    return {
        "version": SPEC_VERSION,
        "image": spec.image,
        "entrypoint": None if spec.entrypoint is None else list(spec.entrypoint),
        "argv": [secretive(argument) for argument in spec.argv],
        "env": {name: secretive(value) for name, value in spec.env},
        "mounts": sorted([mount.target, mount.source, mount.read_only] for mount in spec.mounts),
        "gpus": list(spec.gpus),
        "port": spec.port,
        "bind": spec.bind,
        "container_port": spec.container_port,
        "networks": sorted(spec.networks),
        "shm_bytes": spec.shm_bytes,
        "ipc": spec.ipc,
        "user": spec.user,
        "ulimits": sorted([limit.name, limit.soft, limit.hard] for limit in spec.ulimits),
        "cap_add": sorted(spec.cap_add),
        "cap_drop": sorted(spec.cap_drop),
        "devices": sorted(spec.devices),
        "tmpfs": sorted(spec.tmpfs),
        "working_dir": spec.working_dir,
        "extra_hosts": sorted(spec.extra_hosts),
        "security_opt": sorted(spec.security_opt),
        "read_only": spec.read_only,
        "mem_limit_bytes": spec.mem_limit_bytes,
        "cpus": None if spec.cpus is None else round(spec.cpus * 1_000_000_000),
    }
