"""What an engine is started with: its flags, its environment and its script, checked. Nothing here ends a process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from controller.simulation.engine.flags import Told, read
from controller.simulation.engine.metric_tables import NO_METRICS, TABLES
from controller.simulation.engine.script import Script
from controller.simulation.engine.script_fields import SCALARS, ConfigError, from_text, overlaid

VARIABLE: Final = "STEWARD_SIM"
"""A JSON object with fields of a script; `STEWARD_SIM_<FIELD>` holds one field as text."""

_PLAIN: Final = Script()

__all__ = ["VARIABLE", "Config", "ConfigError", "configure"]


@dataclass(frozen=True, slots=True)
class Config:
    """One engine: how it presents itself, where it listens, what it serves, and its script.

    `context` is in tokens of one request; `slots` are requests that run at once; port 0 takes a free one.
    """

    dialect: str = "simulated"
    host: str = "0.0.0.0"
    port: int = 8000
    names: tuple[str, ...] = ("simulated",)
    context: int = 8192
    slots: int = 8
    api_key: str | None = field(default=None, repr=False)
    script: Script = Script()


def configure(
    argv: Sequence[str], environment: Mapping[str, str], *, dialect: str | None = None, base: Script = _PLAIN
) -> Config:
    """The engine of a command line: its flags beat `STEWARD_SIM_<FIELD>`, which beat `STEWARD_SIM`, which beats `base`.

    `dialect` is the one that holds where neither flag nor variable says another; its real flags are understood, and unknown
    ones are an error for `simulated` alone. Raises ConfigError.
    """
    told = read(argv, environment.get(f"{VARIABLE}_DIALECT") or dialect or "simulated")
    script = _by_flags(_by_variables(_by_document(base, environment.get(VARIABLE)), environment), told)
    _check_metrics(script, told.dialect)
    return Config(told.dialect, told.host, told.port, told.names, told.context, told.slots, told.api_key, script)


def _by_document(script: Script, text: str | None) -> Script:
    """The JSON object of STEWARD_SIM laid over a script."""
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{VARIABLE} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{VARIABLE} is not an object")
    try:
        return overlaid(script, document)
    except ConfigError as error:
        raise ConfigError(f"{VARIABLE}: {error}") from None


def _by_variables(script: Script, environment: Mapping[str, str]) -> Script:
    for name in SCALARS:
        variable = f"{VARIABLE}_{name.upper()}"
        if variable in environment:
            script = _with(script, name, environment[variable], variable)
    return script


def _by_flags(script: Script, told: Told) -> Script:
    for name, text in told.fields.items():
        script = _with(script, name, text, f"argument --sim-{name.replace('_', '-')}")
    return script


def _with(script: Script, name: str, text: str, where: str) -> Script:
    try:
        return replace(script, **{name: from_text(name, text)})  # type: ignore[arg-type]
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _check_metrics(script: Script, dialect: str) -> None:
    """A version of metric names is one that the dialect has."""
    known = (*TABLES[dialect], NO_METRICS)
    for version in (script.metrics, *(change.fields.get("metrics") for change in script.changes)):
        if version is not None and version not in known:
            raise ConfigError(f"metrics is {version!r:.60}, expected one of {', '.join(known)}")
