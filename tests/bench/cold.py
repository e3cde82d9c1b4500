"""How long `steward validate` takes from nothing: a new process, four instances, two files read from the catalogue."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure
from tests.loop.rig import entry, estate

RUNS = 12


def cold_validate() -> Iterator[Figure]:
    """Seconds for a whole process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "estate.yml"
        path.write_text(estate(*(entry(f"e{n}", 8000 + n, gpus=f"[{n}]") for n in range(4))))
        command = [sys.executable, "-m", "controller.cli", "validate", "--estate", str(path), "--rig", "4x:rtx-3090"]
        samples = []
        for _ in range(RUNS):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            samples.append(time.perf_counter() - began)
    yield Figure("validate, cold, 4 instances", "s", "<= 0.5 s", tuple(samples))
