"""`depends_on`: it names other instances, and it must come to an end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from controller.model.problem import Severity
from controller.model.wording import did_you_mean
from controller.solver.tenant import Finding, Tenant

RULE: Final = "G7"


def dependency_findings(tenants: Sequence[Tenant]) -> Iterator[Finding]:
    """Unknown names, an instance that waits for itself, for a stopped one, and circles with all their members."""
    by_name = {tenant.name: tenant for tenant in tenants}
    for tenant in tenants:
        for position, needed in enumerate(tenant.depends_on):
            yield from _edge(tenant, needed, position, by_name)
    yield from _circles(by_name)


def _edge(tenant: Tenant, needed: str, position: int, by_name: Mapping[str, Tenant]) -> Iterator[Finding]:
    path = ("depends_on", position)
    other = by_name.get(needed)
    if needed == tenant.name:
        yield Finding(RULE, tenant.name, path, f"{needed} waits for itself", "remove it")
    elif other is None:
        hint = did_you_mean(needed, list(by_name)) or "name an instance of this estate"
        yield Finding(RULE, tenant.name, path, f"there is no instance {needed}", hint)
    elif tenant.running and not other.running:
        message = f"{tenant.name} waits for {needed}, which is stopped"
        yield Finding(RULE, tenant.name, path, message, f"it will not start until {needed} runs", severity=Severity.WARNING)


def _circles(by_name: Mapping[str, Tenant]) -> Iterator[Finding]:
    """Each circle once, at its member that comes first in the file."""
    order = {name: position for position, name in enumerate(by_name)}
    for group in _strongly_connected(by_name):
        if len(group) > 1:
            first = min(group, key=order.__getitem__)
            circle = _walk(first, group, by_name)
            message = f"a circle of depends_on: {' -> '.join(circle)}"
            members = ", ".join(sorted(group, key=order.__getitem__))
            yield Finding(RULE, first, ("depends_on",), message, f"remove one of the links between {members}")


def _walk(first: str, group: frozenset[str], by_name: Mapping[str, Tenant]) -> list[str]:
    """A shortest way from a member back to itself inside its group."""
    came_from: dict[str, str] = {}
    frontier = [first]
    while frontier:
        following: list[str] = []
        for name in frontier:
            for needed in by_name[name].depends_on:
                if needed == first and name != first:
                    return [*_back(name, first, came_from), first]
                if needed in group and needed != first and needed not in came_from:
                    came_from[needed] = name
                    following.append(needed)
        frontier = following
    return [first]


def _back(name: str, first: str, came_from: Mapping[str, str]) -> list[str]:
    path = [name]
    while path[-1] != first:
        path.append(came_from[path[-1]])
    return path[::-1]


def _strongly_connected(by_name: Mapping[str, Tenant]) -> Iterator[frozenset[str]]:
    """Groups of names that all reach each other."""
    reach = {name: _reachable(name, by_name) for name in _on_circles(by_name)}
    seen: set[str] = set()
    for name, reached in reach.items():
        if name not in seen and name in reached:
            group = frozenset(other for other in reached if name in reach.get(other, frozenset()))
            seen |= group
            yield group


def _on_circles(by_name: Mapping[str, Tenant]) -> list[str]:
    """Circles and what stands on them: the names left after peeling off, again and again, those without an open dependency."""
    waiting = {name: sum(1 for needed in tenant.depends_on if needed in by_name) for name, tenant in by_name.items()}
    users: dict[str, list[str]] = {}
    for name, tenant in by_name.items():
        for needed in tenant.depends_on:
            users.setdefault(needed, []).append(name)
    free = [name for name, count in waiting.items() if not count]
    while free:
        name = free.pop()
        for user in users.get(name, ()):
            waiting[user] -= 1
            if not waiting[user]:
                free.append(user)
    return [name for name, count in waiting.items() if count > 0]


def _reachable(start: str, by_name: Mapping[str, Tenant]) -> frozenset[str]:
    reached: set[str] = set()
    stack = [start]
    while stack:
        for needed in by_name[stack.pop()].depends_on:
            if needed in by_name and needed not in reached:
                reached.add(needed)
                stack.append(needed)
    return frozenset(reached)
