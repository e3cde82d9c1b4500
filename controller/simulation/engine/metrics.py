"""Writes a metrics page in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from controller.simulation.engine.counts import Histogram
from controller.simulation.engine.metric_tables import Family

Figure = float | Histogram | Mapping[str, float]


def page(families: Iterable[Family], figures: Mapping[str, Figure], model: str) -> str:
    """The page of these families; one whose figure is missing is left out."""
    escaped = model.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return "".join(f"{line}\n" for family in families for line in _family(family, figures.get(family.figure), escaped))


def _family(family: Family, figure: Figure | None, model: str) -> Iterator[str]:
    if figure is None:
        return
    labels = family.labels.replace("{model}", model)
    yield f"# TYPE {family.name} {family.kind}"
    if isinstance(figure, Histogram):
        yield from _histogram(family.name, labels, figure)
    elif isinstance(figure, Mapping):
        for value, count in figure.items():
            yield _sample(family.name, count, labels, f'{family.by}="{value}"')
    else:
        yield _sample(family.name, figure, labels)


def _histogram(name: str, labels: str, histogram: Histogram) -> Iterator[str]:
    bounds = (*(f"{float(bound)}" for bound in histogram.bounds), "+Inf")
    counts = tuple(accumulate(histogram.counts))
    for bound, count in zip(bounds, counts, strict=True):
        yield _sample(f"{name}_bucket", count, labels, f'le="{bound}"')
    yield _sample(f"{name}_sum", histogram.sum, labels)
    yield _sample(f"{name}_count", counts[-1], labels)


def _sample(name: str, value: float, *labels: str) -> str:
    told = ",".join(label for label in labels if label)
    return f"{name}{{{told}}} {value:.15g}" if told else f"{name} {value:.15g}"
