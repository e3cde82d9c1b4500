"""Values as `explain` shows them, each with where it came from."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import BaseModel

from controller.model.fields import SecretRef, duration_text
from controller.model.problem import Place
from controller.model.resolved import Origin

ESTATE: Final = "estate"
DEFAULTS: Final = "defaults"
COMPOSE: Final = "compose"
PROFILE: Final = "profile"
OVERLAY: Final = "overlay"
RIG: Final = "rig"
DEFAULT: Final = "default"


def value_text(value: Any) -> str:
    """One line for any resolved value; a secret by its name only."""
    if isinstance(value, str):
        return value
    if isinstance(value, SecretRef):
        return f"{{secret: {value.secret}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, BaseModel):
        return value_text(value.model_dump(exclude_defaults=True))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {value_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_item_text(item) for item in value) + "]"
    return str(value)


def _item_text(item: Any) -> str:
    if isinstance(item, str) and (not item or set(item) & set(", []{}\"'")):
        return json.dumps(item, ensure_ascii=False)
    return value_text(item)


def origin(value: Any, place: Place | None, source: str) -> Origin:
    """A value with its origin."""
    return Origin(value if type(value) is str else value_text(value), place, source)


def seconds_text(value: Any) -> str:
    """A live setting: floats are durations there."""
    return duration_text(value) if isinstance(value, float) else value_text(value)
