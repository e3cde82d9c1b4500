"""A rig written down as a file: cards, their links and the host, for checks without hardware and for the simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from controller.model.desired import GpuIndex, GpuUuid
from controller.model.document import Document
from controller.model.fields import AsTuple
from controller.model.fields import Document as Fields
from controller.model.problem import Problem

RULE = "rig"


class CardFacts(Fields):
    """One card; `memory_gib` (nominal) is for one that differs from its profile, `foreign_mib` is what others hold of it."""

    profile: str
    uuid: GpuUuid | None = None
    memory_gib: Annotated[float, Field(gt=0, le=4096)] | None = None
    foreign_mib: Annotated[int, Field(ge=0)] = 0


class HostFacts(Fields):
    """The machine that holds the cards."""

    ram_gib: Annotated[float, Field(gt=0)] | None = None
    shm_gib: Annotated[float, Field(gt=0)] | None = None
    driver: str | None = None


class RigFile(Fields):
    """The whole file; `simulation` is read by the simulated rig alone."""

    gpus: Annotated[tuple[CardFacts, ...], AsTuple, Field(max_length=64)]
    nvlink: Annotated[tuple[Annotated[tuple[GpuIndex, ...], AsTuple], ...], AsTuple] = ()
    host: HostFacts = HostFacts()
    simulation: dict[str, Any] = Field(default_factory=dict)


def contradictions(rig: RigFile, document: Document) -> Iterator[Problem]:
    """What no single field shows: links to cards that are not there, and one card twice."""
    for position, pair in enumerate(rig.nvlink):
        if len(set(pair)) != 2 or len(pair) != 2:
            yield document.problem(("nvlink", position), RULE, "expected the indices of two cards, such as [0, 1]")
        for end, index in enumerate(pair):
            if index >= len(rig.gpus):
                message = f"there is no card {index}, the file has {len(rig.gpus)}"
                yield document.problem(("nvlink", position, end), RULE, message, "count the cards from 0")
    first: dict[str, int] = {}
    for position, card in enumerate(rig.gpus):
        if card.uuid is not None and first.setdefault(card.uuid, position) != position:
            message = f"the UUID {card.uuid} is the one of card {first[card.uuid]} too"
            yield document.problem(("gpus", position, "uuid"), RULE, message, "give each card its own, or leave it out")
