"""The name under which this rig's containers are labelled."""

from __future__ import annotations

from controller.app.files import without_cards
from controller.app.world import reading
from controller.errors import StoreDamaged
from controller.model.identity import DEFAULT_RIG
from controller.model.resolved import Resolved
from controller.settings import Settings


def rig_name_of(settings: Settings) -> str:
    """The rig's name in the estate as it is now; while that is refused, in the last accepted revision; else the default."""
    resolved = without_cards(settings) or _accepted(settings)
    return resolved.rig.name if resolved else DEFAULT_RIG


def _accepted(settings: Settings) -> Resolved | None:
    try:
        with reading(settings) as store:
            accepted = store.accepted() if store else None
    except StoreDamaged:  # the writer sets such a store aside
        return None
    return without_cards(settings, accepted) if accepted else None
