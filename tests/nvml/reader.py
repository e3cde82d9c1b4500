"""A process of its own that reads the cards: the loader takes the shim only from an environment set before the start.

`python -m tests.nvml.reader SECONDS PROC` answers each line of its input with one line of JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from controller.adapters.nvml_gpus import NvmlGpus


def main() -> None:
    """Read the cards once for each line."""
    gpus = NvmlGpus(float(sys.argv[1]), Path(sys.argv[2]))
    for _ in sys.stdin:
        print(json.dumps(asdict(gpus.read())), flush=True)


if __name__ == "__main__":
    main()
