"""Finding what a person named, with a hint when it does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from controller.errors import UsageError


def check_names(asked: Iterable[str], known: list[str]) -> None:
    """Raises UsageError for the first name that the estate does not have."""
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"the estate has: {', '.join(known) or 'no instance'}"
            raise UsageError(f"there is no instance {name}; {hint}")
