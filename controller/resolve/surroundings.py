"""Everything besides files that a resolution depends on, so that the same input always resolves to the same output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.model.resolved import GpuBinding
from controller.model.rig import RigFacts


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The cards, what was bound before, and the secrets.

    `secret_digest` None: secrets are not looked up, and a name stands for its value. `simulated`: every dialect is served by
    the simulated engine, so that images do not matter.
    """

    cards: RigFacts
    bindings: Mapping[str, GpuBinding] = field(default_factory=dict)
    secret_digest: Callable[[str], str | None] | None = None
    secret_key_id: str = ""
    simulated: bool = False
