"""How long `steward validate` takes from nothing: a new process, four instances, and the documents that they name."""

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
AIM = "<= 0.5 s"
MODELS = """\
estate:
  - {name: dual, compose: vllm/dual, port: 8010, gpus: [0, 1]}
  - {name: gemma, compose: vllm/gemma-mtp, port: 8011, gpus: [2, 3]}
  - {name: tess, compose: llamacpp/tess-dual-mtp, port: 8012, gpus: [4, 5]}
  - {name: small, compose: vllm/minimal, port: 8013, gpus: [6]}
"""
"""Four models, with drafters, overlays and limits."""


def cold_validate() -> Iterator[Figure]:
    """Seconds for a whole process: four simulated engines, and four models."""
    simulated = estate(*(entry(f"e{n}", 8000 + n, gpus=f"[{n}]") for n in range(4)))
    yield Figure("validate, cold, 4 instances", "s", AIM, tuple(_runs(simulated, "4x:rtx-3090")))
    yield Figure("validate, cold, 4 instances of models", "s", AIM, tuple(_runs(MODELS, "7x:rtx-3090")))


def _runs(text: str, rig: str) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "estate.yml"
        path.write_text(text)
        command = [sys.executable, "-m", "controller.cli", "validate", "--estate", str(path), "--rig", rig]
        for _ in range(RUNS):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            yield time.perf_counter() - began
