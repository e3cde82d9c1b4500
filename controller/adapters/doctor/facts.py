"""What the doctor looks at, gathered before anything is judged, so that the judgement is pure."""

from __future__ import annotations

from dataclasses import dataclass

from controller.model.observed import Container, Listener
from controller.model.reading import Reading
from controller.model.rig import RigFacts
from controller.ports import EngineFacts, HostMemory


@dataclass(frozen=True, slots=True)
class WantedPort:
    """A port of the estate, the instance that wants it, and the address it wants it on."""

    instance: str
    port: int
    bind: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that Steward writes to; `place` is itself, or its nearest existing parent when it is missing."""

    path: str
    exists: bool
    place: str
    is_folder: bool
    writable: bool
    mode: int


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """The whole machine; sizes in bytes."""

    engine: Reading[EngineFacts]
    containers: Reading[tuple[Container, ...]]
    cards: RigFacts
    listeners: Reading[tuple[Listener, ...]]
    memory: Reading[HostMemory]
    engine_disk: Reading[int]
    state_disk: Reading[int]
    inotify_watches: Reading[int]
    inotify_instances: Reading[int]
    clock_synchronized: Reading[bool]
    kernel: str
    state: Folder
    locks: Folder
    ports: tuple[WantedPort, ...]
