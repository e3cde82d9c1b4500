"""Finding what a person named, with a hint when it does not exist."""

from __future__ import annotations

from controller.app.naming import check_names
from controller.model.resolved import Resolved, ResolvedInstance


def instance_named(resolved: Resolved, name: str) -> ResolvedInstance:
    """The instance; raises UsageError with the nearest name."""
    check_names([name], [instance.name for instance in resolved.instances])
    found = resolved.get(name)
    assert found is not None
    return found


def name_list(text: str | None) -> tuple[str, ...]:
    """`a,b` as a tuple."""
    return tuple(part for part in (text or "").split(",") if part)
