"""Hints for names that do not exist."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.model.wording import did_you_mean

_SHOWN: Final = 20


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """`did you mean X?`, else what there is, introduced by `what`."""
    names = sorted(known)
    if meant := did_you_mean(name, names):
        return meant
    return f"{what}: {', '.join(names[:_SHOWN]) or 'none'}" + (", ..." if len(names) > _SHOWN else "")
