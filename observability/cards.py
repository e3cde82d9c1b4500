"""What is told of a card: a reading that is not to be had is null or absent, with its reason, never 0. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, TypeVar

from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card
from controller.model.status import InstanceStatus, Status

T = TypeVar("T")


class CardDocument(TypedDict):
    """One card; `unknown` gives the reason of each null reading, `instances` the instances that claim the card."""

    index: int
    uuid: str
    name: str
    instances: list[str]
    memory_total_bytes: int | None
    memory_used_bytes: int | None
    memory_foreign_bytes: int | None
    power_watts: float | None
    power_limit_watts: float | None
    temperature_celsius: int | None
    utilization_ratio: float | None
    healthy: bool | None
    unknown: dict[str, str]


def known(reading: Reading[T]) -> T | None:
    """The value of a reading, or None."""
    return reading.value if isinstance(reading, Known) else None


def card_document(card: Card, users: tuple[str, ...]) -> CardDocument:
    """One card as JSON."""
    return {
        "index": card.index,
        "uuid": card.uuid,
        "name": card.name,
        "instances": list(users),
        "memory_total_bytes": known(card.memory_total),
        "memory_used_bytes": known(card.memory_used),
        "memory_foreign_bytes": foreign_bytes(card),
        "power_watts": known(card.power_watts),
        "power_limit_watts": known(card.power_limit_watts),
        "temperature_celsius": known(card.temperature_celsius),
        "utilization_ratio": known(card.utilization),
        "healthy": known(card.healthy),
        "unknown": _reasons(card),
    }


def foreign_bytes(card: Card) -> int | None:
    """Memory of processes that are not ours: what the facts say, or 0 when nothing at all runs on the card."""
    if card.foreign_bytes > 0:
        return card.foreign_bytes
    return 0 if isinstance(card.processes, Known) and not card.processes.value else None


def memory_used(instance: InstanceStatus, status: Status) -> int | None:
    """The card memory of a running instance; None where it shares a card or a card cannot be read."""
    cards = {card.uuid: card for card in status.cards}
    if not instance.gpus or instance.age_s is None:
        return None
    total = 0
    for uuid in instance.gpus:
        card = cards.get(uuid)
        used = known(card.memory_used) if card else None
        if card is None or used is None or status.card_users.get(uuid) != (instance.name,):
            return None
        total += max(0, used - card.foreign_bytes)
    return total


def _reasons(card: Card) -> dict[str, str]:
    readings: Mapping[str, Reading[object]] = {
        "memory_total_bytes": card.memory_total,
        "memory_used_bytes": card.memory_used,
        "power_watts": card.power_watts,
        "power_limit_watts": card.power_limit_watts,
        "temperature_celsius": card.temperature_celsius,
        "utilization_ratio": card.utilization,
        "healthy": card.healthy,
    }
    return {name: reading.reason for name, reading in readings.items() if isinstance(reading, Unknown)}
