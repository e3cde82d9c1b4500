"""The cards and the port of a Compose service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from controller.model.document import Document, Plain, scalar_text
from controller.model.problem import DocPath
from controller.resolve.importing.drafting import Ledger

VISIBLE: Final = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""Variables that choose cards."""
_PUBLISHED: Final = re.compile(r"(?:(\[[^\]]*\]|[0-9.]+):)?(\d+):(\d+)(?:/tcp)?")
EVERYWHERE: Final = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Published:
    """A port on the host, and the address that it is bound to."""

    port: int
    bind: str


def cards_of(service: Mapping[str, Plain], env: Mapping[str, Plain], parallel: int) -> tuple[Plain, str]:
    """The `gpus` of an entry, and what a person should look at; over `parallel` cards the engine divides its model."""
    devices = _devices(service)
    for device in devices:
        ids = device.get("device_ids")
        if isinstance(ids, list) and ids:
            return [_card(item) for item in ids], ""
    for name in VISIBLE:
        text = scalar_text(value) if not isinstance(value := env.get(name), list | dict) and value is not None else ""
        if re.fullmatch(r"(?:\d+|GPU-[0-9a-fA-F-]+)(?:\s*,\s*(?:\d+|GPU-[0-9a-fA-F-]+))*", text.strip()):
            return [_card(part.strip()) for part in text.split(",")], ""
    for device in devices:
        count = device.get("count")
        if isinstance(count, int) and not isinstance(count, bool):
            return {"count": count}, ""
        if isinstance(count, str) and count.isdigit():
            return {"count": int(count)}, ""
    wanted = [*range(parallel)]
    if devices or env.get(VISIBLE[0]) == "all" or service.get("runtime") == "nvidia":
        return list(wanted), "LOOK: the file gives it every card; these are as many as the engine divides its model over."
    return list(wanted), "LOOK: the file names no cards; write [] for an engine that works without one."


def _devices(service: Mapping[str, Plain]) -> list[Mapping[str, Plain]]:
    """What the service asks for, in the ways that Compose has."""
    value: Plain = dict(service)
    for key in ("deploy", "resources", "reservations", "devices"):
        value = value.get(key) if isinstance(value, dict) else None
    found = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    gpus = service.get("gpus")
    if isinstance(gpus, list):
        found += [item for item in gpus if isinstance(item, dict)]
    return [*found, {"count": "all"}] if gpus == "all" else list(found)


def _card(item: Plain) -> Plain:
    return int(item) if isinstance(item, str) and item.isdigit() else item


def published(document: Document, at: DocPath, written: Plain, inside: int, ledger: Ledger) -> Published | None:
    """The port by which the engine's own, `inside`, is reached; others are told."""
    found: Published | None = None
    for position, item in enumerate(written if isinstance(written, list) else ()):
        one = _published(item)
        place = document.place((*at, position))
        if one is None:
            ledger.lost(place, f"port {item} is not understood")
        elif found is None and one[1] == inside:
            found = one[0]
        else:
            ledger.lost(place, f"port {one[0].port} leads to {one[1]} in the container", "an instance has one port")
    return found


def _published(item: Plain) -> tuple[Published, int] | None:
    if isinstance(item, dict):
        host, target, address = item.get("published"), item.get("target"), item.get("host_ip", EVERYWHERE)
        if isinstance(host, int | str) and str(host).isdigit() and isinstance(target, int) and isinstance(address, str):
            return Published(int(host), address), target
        return None
    match = _PUBLISHED.fullmatch(str(item))
    return (Published(int(match[2]), (match[1] or EVERYWHERE).strip("[]")), int(match[3])) if match else None
