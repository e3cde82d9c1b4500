"""Prints every figure with its aim: what it is, how often it was measured, median, 99th percentile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from tests.bench.catalogue import warm_catalogue
from tests.bench.cold import cold_validate
from tests.bench.figure import Figure, table
from tests.bench.live import live_figures
from tests.bench.passes import pass_time, steps_per_second


def main() -> int:
    """Measure everything that this machine can; what needs Docker is said to be missing where it is not there."""
    measures: list[Callable[[], Iterator[Figure]]] = [cold_validate, warm_catalogue, pass_time, steps_per_second, live_figures]
    figures = [figure for measure in measures for figure in measure()]
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
