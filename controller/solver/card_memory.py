"""What a card's memory is called: needs are written in nominal sizes, drivers report what the firmware leaves of them."""

from __future__ import annotations

from controller.model.profile_hardware import LEAST_REPORTED, NOMINAL_TO_USABLE, HardwareProfile
from controller.model.reading import Unknown
from controller.model.rig import Card


def nominal_bytes(card: Card, profile: HardwareProfile | None) -> int | None:
    """The nominal memory: the profile's where the driver's total is that of such a card, else an estimate; None if unread."""
    if isinstance(card.memory_total, Unknown):
        return None
    total = card.memory_total.value
    if profile is not None:
        nominal = int(profile.memory_gib * 2**30)
        if LEAST_REPORTED * nominal <= total <= nominal:
            return nominal
    return int(total / NOMINAL_TO_USABLE)
