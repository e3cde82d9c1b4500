"""The `${STEWARD_...}` variables of templates: Steward's own few, never the environment of the machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from controller.model.wording import closest

ENGINE_CACHE: Final = "STEWARD_ENGINE_CACHE"
"""Left as it is until create, because its folder belongs to the image that create finds."""
ANYWHERE: Final = frozenset({"STEWARD_MODELS", "STEWARD_HF_CACHE", "STEWARD_INSTANCE", "STEWARD_PORT"})
IN_SOURCES: Final = ANYWHERE | {ENGINE_CACHE}
_DOLLAR: Final = re.compile(r"\$(?:(\$)|\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))?")


def variable_fault(text: str, allowed: frozenset[str]) -> tuple[str, str] | None:
    """Message and hint for the first `$` of a template's text that cannot be expanded."""
    for match in _DOLLAR.finditer(text) if "$" in text else ():
        name = match[2] if match[2] is not None else match[3]
        if match[1]:
            continue
        if name is None:
            return "a single $ begins a variable", "write $$ for the character"
        if name == ENGINE_CACHE and name not in allowed:
            return f"{name} is known only when the container is created", "use it in the host part of a volume"
        if name not in allowed:
            return f"there is no variable {name}", f"{_meant(name, allowed)}; write $$ where the container shall see a $"
    return None


def _meant(name: str, allowed: frozenset[str]) -> str:
    if near := closest(name, sorted(known.lower() for known in allowed)):
        return f"did you mean ${{{near.upper()}}}?"
    return f"Steward's variables are {', '.join(sorted(allowed))}"


def expanded(text: str, values: Mapping[str, str]) -> str:
    """The text with its variables replaced and `$$` as `$`; every variable must have passed `variable_fault`."""
    if "$" not in text:
        return text
    return _DOLLAR.sub(lambda match: "$" if match[1] else values[match[2] or match[3]], text)
