"""`steward render`: an instance as the Compose document that would start the same container by hand."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

from controller.model.fields import SecretRef
from controller.model.payload import STORE
from controller.model.resolved import ContainerSpec, Mount, ResolvedInstance, ResolvedRig, Secretive
from controller.resolve.variables import ENGINE_CACHE

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_]")
_NO_FOLDER: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_WIDE: Final = 10_000
"""Long flags stay on one line."""


class _Dumper(yaml.SafeDumper):
    """Quotes a text that any reader could take for a number: PyYAML knows those of YAML 1.1 alone, in which `1e3` is text."""


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"), list("-+.0123456789")
)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"0[xo][0-9a-fA-F]+$"), ["0"])


def yaml_text(document: Any, *, flow: bool = False) -> str:
    """Plain values as YAML that reads the same under 1.1 and 1.2."""
    return yaml.dump(document, Dumper=_Dumper, default_flow_style=flow, sort_keys=False, allow_unicode=True, width=_WIDE)


def render(instance: ResolvedInstance, rig: ResolvedRig, overlays: str = "/var/lib/steward/overlays") -> str:
    """The document; the same instance always gives the same text, and a secret is a `${NAME}` for the reader to fill in.

    The files of overlays are expected in the folder `overlays`, where `steward overlays fetch` and `steward apply` put them.
    It carries none of Steward's labels: what a person starts from it is that person's, and Steward leaves it alone.
    """
    service = {key: value for key, value in _service(instance, rig, overlays).items() if value not in (None, [], {}, False)}
    document: dict[str, Any] = {"name": instance.name, "services": {"engine": service}}
    if instance.spec.networks:
        document["networks"] = {"default": {}} | {name: {"external": True} for name in instance.spec.networks}
    return yaml_text(document)


def _service(instance: ResolvedInstance, rig: ResolvedRig, overlays: str) -> dict[str, Any]:
    spec = instance.spec
    return {
        "image": _escaped(spec.image),
        "entrypoint": None if spec.entrypoint is None else [_escaped(text) for text in spec.entrypoint],
        "command": [_text(argument) for argument in spec.argv],
        "environment": {name: _text(value) for name, value in spec.env},
        "volumes": [_volume(mount, spec, rig, overlays) for mount in spec.mounts],
        "ports": [_port(spec)],
        "networks": ["default", *spec.networks] if spec.networks else None,
        "init": True,
        "restart": "no",
        "deploy": _devices(instance),
        **_limits(spec),
    }


def _limits(spec: ContainerSpec) -> dict[str, Any]:
    return {
        "shm_size": spec.shm_bytes,
        "ipc": spec.ipc,
        "user": _escaped(spec.user),
        "ulimits": {limit.name: {"soft": limit.soft, "hard": limit.hard} for limit in spec.ulimits},
        "cap_add": list(spec.cap_add),
        "cap_drop": list(spec.cap_drop),
        "devices": [_escaped(text) for text in spec.devices],
        "tmpfs": [_escaped(text) for text in spec.tmpfs],
        "working_dir": _escaped(spec.working_dir),
        "extra_hosts": [_escaped(text) for text in spec.extra_hosts],
        "security_opt": [_escaped(text) for text in spec.security_opt],
        "read_only": spec.read_only,
        "mem_limit": spec.mem_limit_bytes,
        "cpus": spec.cpus,
    }


def _text(value: Secretive) -> str:
    if isinstance(value, SecretRef):
        name = _NO_NAME.sub("_", value.secret)
        return f"${{{name if not name[0].isdigit() else f'_{name}'}}}"
    return value.replace("$", "$$")


def _escaped(text: str | None) -> str | None:
    return None if text is None else text.replace("$", "$$")


def _volume(mount: Mount, spec: ContainerSpec, rig: ResolvedRig, overlays: str) -> dict[str, Any]:
    """The engine cache is shown in a folder named after the image; the id that names the real one is known at create only."""
    folder = f"{rig.paths.engine_cache.rstrip('/')}/{_NO_FOLDER.sub('-', spec.image).strip('-.')}"
    source = mount.source.replace(f"${{{ENGINE_CACHE}}}", folder).replace(STORE, overlays)
    found = {"type": "bind", "source": _escaped(source), "target": _escaped(mount.target)}
    return found | ({"read_only": True} if mount.read_only else {})


def _port(spec: ContainerSpec) -> dict[str, Any]:
    return {"target": spec.container_port, "published": str(spec.port), "host_ip": spec.bind, "protocol": "tcp"}


def _devices(instance: ResolvedInstance) -> dict[str, Any] | None:
    """The cards by UUID; as they are written in the file while their UUIDs are not known."""
    wanted = json.loads(instance.gpus_text)
    if not wanted:
        return None
    device: dict[str, Any] = {"driver": "nvidia", "capabilities": ["gpu"]}
    if instance.spec.gpus:
        device["device_ids"] = list(instance.spec.gpus)
    elif isinstance(wanted, list):
        device["device_ids"] = [str(card) for card in wanted]
    else:
        device["count"] = wanted["count"]
    return {"resources": {"reservations": {"devices": [device]}}}
