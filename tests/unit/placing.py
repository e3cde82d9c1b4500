"""Rigs and instances in a few words, for tests of the placement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

from controller.model.desired import GpuCount
from controller.model.reading import Known
from controller.model.rig import Card, RigFacts
from controller.solver import Tenant

GIB: Final = 2**30
MODELS: Final = {"3080": (10.0, 8.6), "3090": (23.56, 8.6), "4090": (23.52, 8.9), "5090": (31.84, 12.0)}
"""Memory as the driver reports it, in GiB, and compute capability."""


def rig(models: str, *nvlink: tuple[int, int]) -> RigFacts:
    """`3090 5090`: these cards, `GPU-0000` and so on."""
    return RigFacts(Known(tuple(card(index, model) for index, model in enumerate(models.split()))), nvlink)


def card(index: int, model: str, **changes: Any) -> Card:
    """One card."""
    memory, capability = MODELS[model]
    made = Card(index, f"GPU-000{index}", f"RTX {model}", Known(int(memory * GIB)), compute_capability=Known(capability))
    return replace(made, **changes)


def count(number: int, nvlink: Literal["prefer", "require"] | None = None, *, same: bool = False) -> GpuCount:
    """A wish for this many cards."""
    return GpuCount(count=number, nvlink=nvlink, same=same)


def tenant(name: str, wanted: tuple[int | str, ...] | GpuCount, **changes: Any) -> Tenant:
    """A running instance that has its cards for itself."""
    return replace(Tenant(name, True, 8000 + len(name), wanted, cpu=True), **changes)
