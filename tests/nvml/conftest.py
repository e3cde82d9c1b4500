"""Readers on the shim for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import require
from tests.nvml.shim import ShimGpus


@pytest.fixture
def shim(tmp_path: Path) -> Iterator[Callable[..., ShimGpus]]:
    """Start a reader in the given state; it ends with the test."""
    require("nvml", shutil.which("gcc") is not None, "no C compiler (gcc) to build the stand-in for NVIDIA's library")
    with ExitStack() as stack:

        def start(*args: Any, **options: Any) -> ShimGpus:
            return stack.enter_context(ShimGpus(tmp_path, *args, **options))

        yield start
