"""What the journal, the store and the commands pass around."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.model.moment import Instant


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the journal; `sequence` is given by the store. `kind` is one CamelCase word."""

    at: Instant
    kind: str
    message: str
    instance: str = ""
    cause: str = ""
    pass_id: str = ""
    level: str = "info"
    """`info`, `warning` or `error`."""
    sequence: int = 0


class Verb(StrEnum):
    """What a person may ask of a running Steward."""

    SYNC = "sync"
    STOP = "stop"
    START = "start"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Command:
    """A verb with its instances; `for_s` seconds until a stop expires (None: never)."""

    verb: Verb
    instances: tuple[str, ...] = ()
    gpu: str | None = None
    for_s: float | None = None
    reason: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """Whether the command was taken, and what was done in a sentence."""

    ok: bool
    message: str
    data: dict[str, Any] = field(default_factory=dict)
