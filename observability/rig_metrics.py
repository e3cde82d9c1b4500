"""Metrics of the controller itself and of the cards."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from controller.model.rig import Card
from controller.model.status import Status, Truth
from observability.cards import foreign_bytes, known
from observability.families import counter, gauge, histogram, info
from observability.tally import PASS_BUCKETS, Totals

_RIG = ("rig",)
_CARD = ("rig", "uuid", "gpu")


def controller_metrics(rig: str, version: str, totals: Totals) -> Iterator[Metric]:
    """Passes and the source, known without any status."""
    yield info("build", "The running Steward.", _RIG, [((rig,), {"version": version})])
    passes = [((rig, *key), float(number)) for key, number in sorted(totals.passes.items())]
    yield counter("passes", "Passes that ended, by what started them.", ("rig", "trigger", "result"), passes)
    yield histogram(
        "pass_duration_seconds", "How long a pass took.", ("rig", rig), PASS_BUCKETS, totals.buckets, totals.seconds
    )
    yield gauge(
        "last_successful_pass_timestamp_seconds", "When the last good pass began.", _RIG, [((rig,), totals.last_success)]
    )
    yield gauge(
        "source_last_fetch_success_timestamp_seconds",
        "The last pass that had a readable estate.",
        _RIG,
        [((rig,), totals.source_read)],
    )


def config_metrics(status: Status) -> Iterator[Metric]:
    """Whether the newest files are in force."""
    values = {Truth.TRUE: 1.0, Truth.FALSE: 0.0}
    accepted = next((values.get(c.status) for c in status.conditions if c.type == "ConfigAccepted"), None)
    yield gauge("config_accepted", "1 while the newest revision is in force.", _RIG, [((status.rig,), accepted)])


def card_metrics(rig: str, cards: tuple[Card, ...]) -> Iterator[Metric]:
    """The cards; a reading that is not to be had has no sample."""
    labels = {card.uuid: (rig, card.uuid, str(card.index)) for card in cards}

    def family(name: str, text: str, values: dict[str, float | None]) -> Metric:
        return gauge(f"gpu_{name}", text, _CARD, [(labels[uuid], value) for uuid, value in values.items()])

    yield family("memory_total_bytes", "Memory of the card.", {c.uuid: known(c.memory_total) for c in cards})
    yield family("memory_used_bytes", "Memory in use.", {c.uuid: known(c.memory_used) for c in cards})
    yield family("memory_foreign_bytes", "Memory of processes not ours.", {c.uuid: foreign_bytes(c) for c in cards})
    yield family("power_watts", "Power drawn.", {c.uuid: known(c.power_watts) for c in cards})
    yield family("power_limit_watts", "Power limit in force.", {c.uuid: known(c.power_limit_watts) for c in cards})
    yield family("temperature_celsius", "Temperature.", {c.uuid: known(c.temperature_celsius) for c in cards})
    yield family("utilization_ratio", "Share of time that it was busy.", {c.uuid: known(c.utilization) for c in cards})
    yield family("healthy", "1 while the driver reports the card as usable.", {c.uuid: known(c.healthy) for c in cards})
