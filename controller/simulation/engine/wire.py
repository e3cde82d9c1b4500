"""Configurations and scripts as one line of JSON: how a parent tells an engine process what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from controller.simulation.engine.config import Config, ConfigError
from controller.simulation.engine.script import Change, Script
from controller.simulation.engine.script_fields import overlaid


def script_to_json(script: Script) -> str:
    """A whole script as one line; what it leaves to its defaults is left out."""
    return json.dumps(_script(script))


def script_from_json(text: str) -> Script:
    """The script of such a line; raises ConfigError."""
    return overlaid(Script(), _object(text))


def config_to_json(config: Config) -> str:
    """A configuration as one line, with its key in plain text."""
    told = {entry.name: getattr(config, entry.name) for entry in fields(Config)}
    return json.dumps({**told, "script": _script(config.script)})


def config_from_json(text: str) -> Config:
    """The configuration of such a line; raises ConfigError."""
    told = _object(text)
    script, names = told.pop("script", {}), told.pop("names", [])
    if not isinstance(script, dict) or not isinstance(names, list) or told.keys() - {entry.name for entry in fields(Config)}:
        raise ConfigError("not the configuration of an engine")
    return Config(**told, names=tuple(names), script=overlaid(Script(), script))


def _script(script: Script) -> dict[str, Any]:
    told = {entry.name: getattr(script, entry.name) for entry in fields(Script)}
    changed = {name: value for name, value in told.items() if value != getattr(Script(), name)}
    return {name: [_entry(entry) for entry in value] if isinstance(value, tuple) else value for name, value in changed.items()}


def _entry(entry: Any) -> dict[str, Any]:
    """A line, or a change as one flat object."""
    if isinstance(entry, Change):
        return {"at_s": entry.at_s, **_plain(entry.fields)}
    return {told.name: getattr(entry, told.name) for told in fields(entry)}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: [_entry(entry) for entry in value] if isinstance(value, tuple) else value for name, value in values.items()}


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError("not a JSON object")
    return document
