"""The engine's documents as nouns. Pure: what the engine says is taken over, what it does not say stays empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from controller.model.identity import identity_of
from controller.model.observed import Container, ContainerState, Image

Json = Mapping[str, Any]


def is_ours(item: Json) -> bool:
    """Whether an item of the list carries Steward's labels."""
    return identity_of(item.get("Labels") or {}) is not None


def summary_of(item: Json) -> Container:
    """A foreign container from an item of the list; no second question is asked about it."""
    ports = (port.get("PublicPort") for port in item.get("Ports") or ())
    return Container(
        id=item["Id"],
        name=_first_name(item.get("Names") or ()),
        state=state_of(item.get("State", "")),
        image_id=item.get("ImageID", ""),
        created_at=float(item["Created"]) if item.get("Created") else None,
        host_ports=_ports(ports),
        ids_complete=False,
    )


def container_of(document: Json) -> Container:
    """One of ours from its inspection."""
    state, config, host = document["State"], document.get("Config") or {}, document.get("HostConfig") or {}
    return Container(
        id=document["Id"],
        name=document["Name"].lstrip("/"),
        state=state_of(state.get("Status", "")),
        image_id=document.get("Image", ""),
        identity=identity_of(config.get("Labels") or {}),
        exit_code=state.get("ExitCode") or 0,
        oom_killed=bool(state.get("OOMKilled")),
        error=state.get("Error") or "",
        pid=state.get("Pid") or 0,
        created_at=unix_of(document.get("Created")),
        started_at=unix_of(state.get("StartedAt")),
        finished_at=unix_of(state.get("FinishedAt")),
        restart_policy=(host.get("RestartPolicy") or {}).get("Name") or "no",
        host_ports=_bound_ports(document),
    )


def image_of(document: Json) -> Image:
    """A local image from its inspection."""
    config = document.get("Config") or {}
    return Image(
        id=document["Id"],
        tags=tuple(document.get("RepoTags") or ()),
        digests=tuple(document.get("RepoDigests") or ()),
        size_bytes=document.get("Size") or 0,
        entrypoint=tuple(config.get("Entrypoint") or ()),
        command=tuple(config.get("Cmd") or ()),
    )


def state_of(text: str) -> ContainerState:
    """The state; one that a later engine invented counts as running, which is the one that is never removed."""
    try:
        return ContainerState(text)
    except ValueError:
        return ContainerState.RUNNING


def unix_of(text: str | None) -> float | None:
    """Unix seconds from the engine's timestamp, or None for its zero time (year 1)."""
    if not text or text.startswith("0001-"):
        return None
    return datetime.fromisoformat(text).astimezone(UTC).timestamp()


def _bound_ports(document: Json) -> tuple[int, ...]:
    """The wanted ports, which a stopped container keeps, and the ones that it got if the engine chose."""
    wanted = (document.get("HostConfig") or {}).get("PortBindings") or {}
    actual = (document.get("NetworkSettings") or {}).get("Ports") or {}
    bindings = [binding for table in (wanted, actual) for found in table.values() for binding in found or ()]
    return _ports(binding.get("HostPort") for binding in bindings)


def _ports(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(sorted({int(value) for value in values if value and str(value).isdigit() and int(value)}))


def _first_name(names: Iterable[str]) -> str:
    """The container's own name: names with a second slash are links that others have to it."""
    own = [name.lstrip("/") for name in names if "/" not in name.lstrip("/")]
    return own[0] if own else ""
