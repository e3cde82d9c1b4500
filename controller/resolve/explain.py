"""`steward explain`: every value of an instance with the file and line that it came from, and what each rule says of it."""

from __future__ import annotations

from typing import Final

from controller.model.resolved import Origin, ResolvedInstance
from controller.solver import RULES

_TITLES: Final = {rule.id: rule.title for rule in RULES}
"""What holds where a rule has nothing to add."""
_WIDEST_VALUE: Final = 60
"""A longer value pushes only its own line's origin to the right."""


def explain_text(instance: ResolvedInstance) -> str:
    """Aligned columns: the value's name, the value, and where it stands; then the rules, with their verdicts and reasons."""
    return _values(instance) + _rules(instance)


def _values(instance: ResolvedInstance) -> str:
    rows = [(key, origin.value or '""', _where(origin)) for key, origin in instance.origins.items()]
    rows.append(_hash_row(instance))
    names = max(len(key) for key, _, _ in rows)
    values = min(_WIDEST_VALUE, max(len(value) for _, value, _ in rows))
    return "\n".join(f"{key:<{names}}  {value:<{values}}  {where}".rstrip() for key, value, where in rows) + "\n"


def _rules(instance: ResolvedInstance) -> str:
    if not instance.verdicts:
        return ""
    ids = max(len(verdict.rule) for verdict in instance.verdicts)
    outcomes = max(len(verdict.outcome) for verdict in instance.verdicts)
    lines = [f"{v.rule:<{ids}}  {v.outcome:<{outcomes}}  {v.reason or _TITLES.get(v.rule, '')}" for v in instance.verdicts]
    return "\n" + "\n".join(lines) + "\n"


def _hash_row(instance: ResolvedInstance) -> tuple[str, str, str]:
    """Where no secret was looked up, the hash in which secrets count by their names."""
    if instance.spec_hash != instance.spec_hash_plain and not instance.secret_key:
        return "spec_hash", instance.spec_hash_plain, "of all that reaches the container, secrets by name"
    return "spec_hash", instance.spec_hash, "of all that reaches the container"


def _where(origin: Origin) -> str:
    if origin.place is None:
        return {"default": "built-in default", "rig": "the rig's cards"}.get(origin.source, origin.source)
    return f"{origin.source}  {origin.place}"
