"""Are the driver and each card as they should be? Pure."""

from __future__ import annotations

from typing import Final

from controller.adapters.doctor.facts import MachineFacts
from controller.adapters.doctor.finding import Finding, Health, gib
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card, RigFacts

_LEAST_CUDA: Final = 12
"""Current engine images are built for it; a driver serves the CUDA it was made for and older ones."""
_BUSY: Final = 0.5
"""A card that works this hard has raised its link to full speed if it can."""


def card_findings(facts: MachineFacts) -> tuple[Finding, ...]:
    """The driver, then each card, then what else was noted."""
    cards = facts.cards.cards
    if isinstance(cards, Unknown):
        hint = "instances with cards wait until they are readable; instances with `gpus: []` on a cpu engine run all the same"
        return (Finding("nvml", Health.WARN, cards.reason, hint),)
    found = [_count(cards.value), _driver(facts.cards)]
    for card in cards.value:
        found += [_health(card), _pcie(card), _persistence(card), _power(card)]
    found += [_links(facts.cards)] if len(cards.value) > 1 else []
    return (*found, *(Finding("nvml", Health.WARN, note) for note in facts.cards.notes))


def _count(cards: tuple[Card, ...]) -> Finding:
    if not cards:
        return Finding("nvml", Health.WARN, "the driver lists no card", "look for the card with `lspci` and in `dmesg`")
    return Finding("nvml", Health.OK, f"{len(cards)} card{'s' if len(cards) > 1 else ''}")


def _driver(rig: RigFacts) -> Finding:
    if isinstance(rig.driver, Unknown):
        return Finding("nvidia driver", Health.UNKNOWN, rig.driver.reason)
    if isinstance(rig.cuda, Unknown):
        return Finding("nvidia driver", Health.UNKNOWN, f"{rig.driver.value}; its CUDA version: {rig.cuda.reason}")
    detail = f"{rig.driver.value}, CUDA {rig.cuda.value}"
    major = rig.cuda.value.partition(".")[0]
    if major.isdecimal() and int(major) < _LEAST_CUDA:
        return Finding("nvidia driver", Health.WARN, detail, "current engine images need a driver for CUDA 12 or newer")
    return Finding("nvidia driver", Health.OK, detail)


def _health(card: Card) -> Finding:
    name, who = f"card {card.index}", f"{card.name} ({card.uuid})"
    if isinstance(card.healthy, Unknown):
        return Finding(name, Health.UNKNOWN, f"{who}: {card.healthy.reason}")
    if not card.healthy.value:
        hint = "look for Xid lines in `dmesg`; a lost card comes back with a reset or a cold boot"
        return Finding(name, Health.FAIL, f"{who}: lost, or needs a reset", hint)
    if isinstance(card.memory_total, Known) and isinstance(card.memory_used, Known):
        who += f", {gib(card.memory_used.value)} of {gib(card.memory_total.value)} used"
    return Finding(name, Health.OK, who)


def _pcie(card: Card) -> Finding:
    name = f"card {card.index} pcie"
    link = (card.pcie_generation, card.pcie_width, card.pcie_max_generation, card.pcie_max_width)
    unknown = next((reading for reading in link if isinstance(reading, Unknown)), None)
    if unknown is not None:
        return Finding(name, Health.UNKNOWN, unknown.reason)
    generation, width, max_generation, max_width = (_value(reading) for reading in link)
    detail = f"gen {generation} x{width} of gen {max_generation} x{max_width}"
    if width < max_width:
        hint = "reseat the card, look at riser and slot, and at what else takes lanes of the slot"
        return Finding(name, Health.WARN, detail, hint)
    if generation >= max_generation:
        return Finding(name, Health.OK, detail)
    if isinstance(card.utilization, Known) and card.utilization.value >= _BUSY:
        return Finding(name, Health.WARN, f"{detail} under load", "look at the riser and at the slot's speed in the BIOS")
    return Finding(name, Health.OK, f"{detail}; an idle card lowers its link")


def _value(reading: Reading[int]) -> int:
    return reading.value if isinstance(reading, Known) else 0


def _persistence(card: Card) -> Finding:
    name = f"card {card.index} persistence"
    if isinstance(card.persistence, Unknown):
        return Finding(name, Health.UNKNOWN, card.persistence.reason)
    if card.persistence.value:
        return Finding(name, Health.OK, "on")
    hint = "start nvidia-persistenced, or run `nvidia-smi -pm 1`"
    return Finding(name, Health.WARN, "off: the driver forgets power limits and wakes slowly when nobody uses the card", hint)


def _power(card: Card) -> Finding:
    name = f"card {card.index} power"
    if isinstance(card.power_limit_watts, Unknown):
        return Finding(name, Health.UNKNOWN, f"limit: {card.power_limit_watts.reason}")
    drawn = f", drawing {card.power_watts.value:.0f} W" if isinstance(card.power_watts, Known) else ""
    return Finding(name, Health.OK, f"limit {card.power_limit_watts.value:.0f} W{drawn}")


def _links(rig: RigFacts) -> Finding:
    pairs = ", ".join(f"{low}-{high}" for low, high in rig.nvlink)
    return Finding("nvlink", Health.OK, f"between cards {pairs}" if pairs else "none")
