"""Why a container must be made or replaced, in the words of the file that was edited. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from controller.model.observed import Container
from controller.model.plan import Cause
from controller.model.resolved import ResolvedInstance
from reconcilers.view import View


def spec_cause(view: View, instance: ResolvedInstance, others: tuple[Container, ...]) -> Cause:
    """The first field that differs from the newest other container, with how many more; `added` when there is none."""
    newest = next((c for c in others if c.identity), None)
    if newest is None or newest.identity is None:
        gone = instance.name in view.situation.memory.generations
        return Cause("container", "gone", "wanted") if gone else Cause("instance", "", "added")
    before = view.situation.memory.fields.get((instance.name, newest.identity.spec_hash))
    if before is not None and (cause := _first_difference(before, instance)):
        return cause
    return Cause("spec", newest.identity.spec_hash[:8], instance.spec_hash[:8])


def _first_difference(before: Mapping[str, str], instance: ResolvedInstance) -> Cause | None:
    old = before
    new = instance.spec_fields()
    changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    if not changed:
        return None
    more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
    first = changed[0]
    return Cause(first, old.get(first, "unset"), new.get(first, "unset") + more)
