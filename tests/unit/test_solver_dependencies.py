"""Circles of depends_on, found once each and told whole."""

from __future__ import annotations

import pytest

from controller.solver import Tenant
from controller.solver.dependencies import dependency_findings


def found(edges: dict[str, list[str]]) -> list[str]:
    """The messages for these dependencies."""
    tenants = [Tenant(name, True, 8000, (), depends_on=tuple(needed)) for name, needed in edges.items()]
    return [finding.message for finding in dependency_findings(tenants)]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ({"a": ["b"], "b": ["c"], "c": []}, []),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, []),
        ({"a": ["b"], "b": ["a"]}, ["a circle of depends_on: a -> b -> a"]),
        ({"a": ["a"]}, ["a waits for itself"]),
        ({"z": ["a"], "a": ["b"], "b": ["a"], "y": ["z"]}, ["a circle of depends_on: a -> b -> a"]),
        (
            {"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c", "a"]},
            ["a circle of depends_on: a -> b -> a", "a circle of depends_on: c -> d -> c"],
        ),
        ({"a": ["b", "b"], "b": []}, []),
    ],
)
def test_circles(edges: dict[str, list[str]], expected: list[str]) -> None:
    """Given dependencies, when they are checked, then each circle is one finding and what stands on it is none."""
    assert found(edges) == expected


def test_a_circle_within_a_circle_names_all_members() -> None:
    """Given two circles that share a member, when they are checked, then the finding names everyone who must move."""
    tenants = [Tenant(n, True, 8000, (), depends_on=d) for n, d in (("a", ("b",)), ("b", ("a", "c")), ("c", ("b",)))]
    findings = list(dependency_findings(tenants))
    assert [finding.hint for finding in findings] == ["remove one of the links between a, b, c"]


def test_a_long_chain_is_no_circle_and_no_recursion() -> None:
    """Given a chain of two thousand, when it is checked, then nothing is found and nothing overflows."""
    names = [f"i{n}" for n in range(2000)]
    assert found({name: names[n + 1 : n + 2] for n, name in enumerate(names)}) == []
