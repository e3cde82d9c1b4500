"""Everything besides files that a resolution depends on, so that the same input always resolves to the same output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.model.resolved import GpuBinding
from controller.model.rig import RigFacts
from controller.resolve.overlay_content import PayloadSource


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The cards, what was bound before, the secrets, and the time.

    `secret_digest` None: secrets are not looked up, and a name stands for its value. `simulated`: every dialect is served by
    the simulated engine, so that images do not matter. `now` in Unix seconds decides which waivers are over; None: none is.
    `held`: the revision is in force already, and a rule that it breaks is a warning: running engines are not let go for it.
    """

    cards: RigFacts
    bindings: Mapping[str, GpuBinding] = field(default_factory=dict)
    secret_digest: Callable[[str], str | None] | None = None
    secret_key_id: str = ""
    simulated: bool = False
    now: float | None = None
    held: bool = False
    payloads: PayloadSource | None = None
