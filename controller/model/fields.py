"""Field types of the files that users write: durations, sizes, names, ports, secrets.

Every type rejects what it does not mean instead of guessing: `port: "80"`, `interval: 5` and `name: NO` are errors that say
what to write.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(KiB|MiB|GiB|TiB)")
_BYTES: Final = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9-]{0,38}$"
RIG_NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9-]{0,30}$"


class Document(BaseModel):
    """Base of every model of a user's file: strict types, no unknown keys, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)


def parse_duration(text: object) -> float:
    """Seconds from `250ms 5s 10m 4h 2d`; ValueError for anything else, a bare number included."""
    if isinstance(text, str) and (match := _DURATION.fullmatch(text)):
        return float(match[1]) * _SECONDS[match[2]]
    raise ValueError("expected a duration such as 250ms, 5s, 10m, 4h or 2d")


def parse_size(text: object) -> int:
    """Bytes from `16GiB 512MiB`; ValueError for anything else."""
    if isinstance(text, str) and (match := _SIZE.fullmatch(text)):
        return int(float(match[1]) * _BYTES[match[2]])
    raise ValueError("expected a size such as 512MiB or 16GiB")


def parse_timestamp(text: object) -> float:
    """Unix seconds from an RFC 3339 timestamp with a zone; ValueError for anything else."""
    if isinstance(text, str):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is not None and moment.tzinfo is not None:
            return moment.astimezone(UTC).timestamp()
    raise ValueError("expected a time with its zone, such as 2026-12-01T08:00:00Z")


def duration_text(seconds: float) -> str:
    """Seconds as the shortest exact `250ms 5s 10m 4h 2d` form, else as seconds."""
    for unit in ("d", "h", "m", "s"):
        if seconds >= _SECONDS[unit] and seconds % _SECONDS[unit] == 0:
            return f"{int(seconds / _SECONDS[unit])}{unit}"
    return f"{round(seconds * 1000)}ms" if seconds else "0s"


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(duration_text),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?(ms|s|m|h|d)$", "examples": ["250ms", "5s", "10m"]}),
]
ByteSize = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?(KiB|MiB|GiB|TiB)$", "examples": ["16GiB"]}),
]
Timestamp = Annotated[
    float,
    BeforeValidator(parse_timestamp),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
InstanceName = Annotated[
    str, Field(pattern=NAME_PATTERN, description="a name of at most 39 small letters, digits and hyphens (no hyphen first)")
]
RigName = Annotated[
    str, Field(pattern=RIG_NAME_PATTERN, description="a name of at most 31 small letters, digits and hyphens (no hyphen first)")
]
Port = Annotated[int, Field(ge=1, le=65535)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Names = Annotated[tuple[InstanceName, ...], BeforeValidator(_as_tuple)]
AsTuple = BeforeValidator(_as_tuple)


class SecretRef(Document):
    """`{secret: NAME}`: the value lives outside the file and never reaches a label, log, plan or error."""

    secret: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="the name of a secret (at most 64 letters, digits, `_`, `.`, `-`)"
        ),
    ]
