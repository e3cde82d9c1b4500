"""Builds metric families: a row without a value is left out, because what is not known is absent and never 0."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric

Row: TypeAlias = tuple[tuple[str, ...], float | None]
"""Label values in order, and the value or None."""

PREFIX = "steward_"


def gauge(name: str, text: str, labels: Sequence[str], rows: Iterable[Row]) -> Metric:
    """A gauge."""
    family = GaugeMetricFamily(PREFIX + name, text, labels=labels)
    for values, value in rows:
        if value is not None and math.isfinite(value):
            family.add_metric(values, value)
    return family


def counter(name: str, text: str, labels: Sequence[str], rows: Iterable[Row]) -> Metric:
    """A counter; `_total` is put behind the name by the exposition."""
    family = CounterMetricFamily(PREFIX + name, text, labels=labels)
    for values, value in rows:
        if value is not None and math.isfinite(value):
            family.add_metric(values, value)
    return family


def info(name: str, text: str, labels: Sequence[str], rows: Iterable[tuple[tuple[str, ...], dict[str, str]]]) -> Metric:
    """Facts as labels of a constant 1; `_info` is put behind the name by the exposition."""
    family = InfoMetricFamily(PREFIX + name, text, labels=labels)
    for values, facts in rows:
        family.add_metric(values, facts)
    return family


def histogram(
    name: str, text: str, label: tuple[str, str], bounds: Sequence[float], counts: Sequence[int], total: float
) -> Metric:
    """A histogram of one series with one label; `counts` are not cumulated and end with the overflow."""
    family = HistogramMetricFamily(PREFIX + name, text, labels=label[:1])
    cumulated, buckets = 0, []
    for bound, number in zip([*map(str, bounds), "+Inf"], counts, strict=True):
        cumulated += number
        buckets.append((bound, float(cumulated)))
    family.add_metric(label[1:], buckets, total)
    return family
