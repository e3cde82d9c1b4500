"""Small pieces that every engine's argv is made of: a flag with its value, paths in the container, what comes last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from controller.dialects.dialect import Launch
from controller.model.fields import SecretRef
from controller.model.parameters import Value
from controller.model.resolved import Secretive

MODELS: Final = "/models"
"""Where `${STEWARD_MODELS}` is mounted in every container."""


def flags(parameters: Mapping[str, Value], table: Sequence[tuple[str, str]]) -> tuple[Secretive, ...]:
    """`(parameter, flag)` pairs as flags with values, in the table's order; a parameter that is not set adds nothing."""
    found: list[Secretive] = []
    for name, flag in table:
        if name in parameters:
            found += (flag, word(parameters[name]))
    return tuple(found)


def word(value: Value) -> Secretive:
    """One value as one argument; a secret stays a reference until the container is created."""
    if isinstance(value, SecretRef):
        return value
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def in_models(path: Value) -> str:
    """A path below the models folder as the container sees it; an absolute one is the container's own already."""
    text = str(path)
    return text if text.startswith("/") else f"{MODELS}/{text}"


def last(launch: Launch) -> tuple[str, ...]:
    """The template's command, then the instance's `extra_args`."""
    extra = launch.parameters.get("extra_args", ())
    return (*launch.extra, *(extra if isinstance(extra, tuple) else ()))


def has_flag(arguments: Sequence[str], names: Sequence[str]) -> bool:
    """Whether one of these flags is given, as `--flag value` or as `--flag=value`."""
    return any(argument.partition("=")[0] in names for argument in arguments)
