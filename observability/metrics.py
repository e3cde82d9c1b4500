"""The Prometheus metrics of one Steward: a recorder that counts, and a collector over one snapshot.

The loop writes, a scrape reads. Both meet in one short lock around plain numbers: a scrape asks no engine, no card and no file,
and what belongs to an instance that is gone is gone from the next scrape on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from controller.model.events import Event
from controller.model.identity import DEFAULT_RIG
from controller.model.moment import Instant
from controller.model.status import Status
from observability.instance_metrics import instance_metrics
from observability.rig_metrics import card_metrics, config_metrics, controller_metrics
from observability.tally import Tally


class Metrics:
    """Implements the port Recorder; `exposition` is the page for Prometheus."""

    def __init__(self) -> None:
        """Count from zero, with a registry of its own."""
        self._lock = threading.Lock()
        self._tally = Tally()
        self._status: Status | None = None
        self._version = _version()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:
        """One pass ended."""
        with self._lock:
            self._tally.passed(trigger, result, seconds, now)

    def acted(self, instance: str, action: str, result: str) -> None:
        """One action ended."""
        with self._lock:
            self._tally.acted(instance, action, result)

    def event(self, event: Event) -> None:
        """One journal line was written."""
        with self._lock:
            self._tally.event(event)

    def show(self, status: Status) -> None:
        """The rig as the last pass left it."""
        with self._lock:
            self._tally.show(status)
            self._status = status

    def collect(self) -> Iterator[Metric]:
        """Every family, from one snapshot."""
        with self._lock:
            totals, status = self._tally.totals(), self._status
        yield from controller_metrics(status.rig if status else DEFAULT_RIG, self._version, totals)
        if status is not None:
            yield from config_metrics(status)
            yield from instance_metrics(status, totals)
            yield from card_metrics(status.rig, status.cards)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """The page in the format that an Accept header asks for, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


def _version() -> str:
    try:
        return version("steward-rig")
    except PackageNotFoundError:
        return "unknown"
