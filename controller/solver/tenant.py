"""What the rules know of one instance: what it claims, and what its template needs."""

from __future__ import annotations

from dataclasses import dataclass

from controller.model.desired import GpuCount
from controller.model.problem import DocPath, Severity


@dataclass(frozen=True, slots=True)
class Tenant:
    """One instance as a claimant of cards and a port.

    `wanted` is its `gpus` as written; `kept` the UUIDs of an earlier binding of the same text. `tensor` and `pipeline` are None
    for engines that do not split a model that way; `gpus_needed` is the template's own figure. `contiguous`: the indices of its
    cards must follow each other. `min_vram_bytes` is the nominal memory that it needs of each card beside what others there
    need, in bytes; `min_compute_capability` the least that its kernels run on, fallbacks included. None: nothing is said.
    """

    name: str
    running: bool
    port: int
    wanted: tuple[int | str, ...] | GpuCount
    exclusive: bool = True
    kept: tuple[str, ...] | None = None
    tensor: int | None = None
    pipeline: int | None = None
    gpus_needed: int | None = None
    needs_nvlink: bool = False
    contiguous: bool = False
    min_vram_bytes: int | None = None
    min_compute_capability: float | None = None
    cpu: bool = False
    engine: str = ""
    depends_on: tuple[str, ...] = ()

    @property
    def card_count(self) -> int:
        """How many cards it asks for."""
        return self.wanted.count if isinstance(self.wanted, GpuCount) else len(self.wanted)


@dataclass(frozen=True, slots=True)
class Finding:
    """One verdict of a rule: `path` is relative to the instance's entry, `other` the instance that it collides with."""

    rule: str
    instance: str
    path: DocPath
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    other: str = ""


def listed_twice(instance: str, position: int, token: int | str) -> Finding:
    """A list of cards that names one again, by the same or by another name."""
    return Finding("E1", instance, ("gpus", position), f"card {token} is listed twice", "list each card once")
