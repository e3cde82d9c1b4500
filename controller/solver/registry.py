"""Every rule once, in the order in which reports list them."""

from __future__ import annotations

from typing import Final

from controller.solver import (
    rules_attention,
    rules_capability,
    rules_claims,
    rules_container,
    rules_engine,
    rules_formats,
    rules_host,
    rules_limits,
    rules_links,
    rules_memory,
    rules_neighbours,
    rules_overlays,
    rules_parallel,
    rules_settings,
    rules_topology,
    rules_weights,
)
from controller.solver.rule import Rule

_GROUPS: Final = (
    rules_parallel, rules_capability, rules_formats, rules_weights, rules_engine, rules_memory, rules_links, rules_topology,
    rules_claims, rules_container, rules_host, rules_attention, rules_neighbours, rules_overlays, rules_settings, rules_limits,
)  # fmt: skip


def rule_order(rule: str) -> tuple[str, int]:
    """Sorts ids as people do: C2 before C10."""
    return rule[0], int(rule[1:])


_ALL: Final = {rule.id: rule for group in _GROUPS for rule in group.RULES}
RULES: Final[tuple[Rule, ...]] = tuple(_ALL[name] for name in sorted(_ALL, key=rule_order))
KNOWN_RULES: Final = frozenset(rule.id for rule in RULES)
"""Ids that a waiver may name."""
NEVER_WAIVED: Final = frozenset({"C1", "E1", "E4"})
"""A broken one of these cannot run at all, so that a waiver would promise what nobody can keep."""
