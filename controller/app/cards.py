"""The cards of the rig with what the catalogue knows of each, whether or not there is an estate."""

from __future__ import annotations

from collections.abc import Mapping

from controller.app.files import facts_of, source_of
from controller.model.profile import HardwareProfile
from controller.model.rig import RigFacts
from controller.model.snapshot import Snapshot, snapshot_of
from controller.resolve.card_types import card_types
from controller.resolve.profiles import Profiles
from controller.settings import Settings
from controller.sources.search_path import catalogue_for


def typed_cards(settings: Settings) -> tuple[RigFacts, Mapping[str, HardwareProfile]]:
    """The facts and the profile of each card by its UUID, those beside the estate first; raises what `facts_of` does."""
    facts = facts_of(settings)
    found = source_of(settings).read()
    snapshot = found if isinstance(found, Snapshot) else snapshot_of(())
    return facts, card_types(facts, Profiles(catalogue_for(snapshot, settings.profiles, settings.bounds)))
