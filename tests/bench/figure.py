"""One measured figure and the table of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """Samples of one quantity in one unit, and what it should be; without samples, why there are none."""

    name: str
    unit: str
    aim: str
    samples: tuple[float, ...] = ()
    missing: str = ""

    def cells(self) -> tuple[str, ...]:
        """Its row."""
        if not self.samples:
            return (self.name, "-", "-", "-", self.aim, self.missing)
        return (
            self.name,
            str(len(self.samples)),
            f"{statistics.median(self.samples):.4g} {self.unit}",
            f"{percentile(self.samples, 0.99):.4g} {self.unit}",
            self.aim,
            "",
        )


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least `share` of all samples do not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(figures: Sequence[Figure]) -> str:
    """All figures, aligned."""
    rows = [("figure", "n", "median", "p99", "aim", ""), *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
