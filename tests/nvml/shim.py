"""Builds the shim and drives a reader process on it."""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card, CardProcess, RigFacts
from tests.nvml.state import ShimState

_ROOT: Final = Path(__file__).parents[2]
_SOURCE: Final = Path(__file__).with_name("nvml_shim.c")
_PATIENCE: Final = 30.0
_FIRST_NAMESPACE: Final = "pid:[4026531836]"
_PLAIN: Final = frozenset({"index", "uuid", "name", "profile", "foreign_bytes"})


@cache
def library(*flags: str) -> Path:
    """The folder of a shim compiled with these flags."""
    folder = Path(tempfile.mkdtemp(prefix="nvml-shim-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / "libnvidia-ml.so.1"
    command = [
        "gcc",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        f"-Wl,-soname,{target.name}",
        *flags,
        "-o",
        str(target),
        str(_SOURCE),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return folder


class ShimGpus:
    """The real adapter in a child process, on a shim whose state the test writes; a GpuProbe like any other."""

    def __init__(self, folder: Path, state: ShimState | None, *, flags: tuple[str, ...] = (), seconds: float = 10.0) -> None:
        """Start the reader; a state of None leaves the library away altogether."""
        self.proc = folder / "proc"
        self._state = folder / "state"
        self.namespace(_FIRST_NAMESPACE)
        empty = folder / "no-driver"
        empty.mkdir()
        self.become(state or ShimState())
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.nvml.reader", str(seconds), str(self.proc)],
            cwd=_ROOT,
            env={
                **os.environ,
                "LD_LIBRARY_PATH": str(library(*flags) if state is not None else empty),
                "NVML_SHIM_STATE": str(self._state),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> ShimGpus:
        """The reader is killed at the end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the child, also one that hangs."""
        self._child.kill()
        self._child.communicate(timeout=_PATIENCE)

    def become(self, state: ShimState) -> None:
        """Change the machine between two calls of the driver."""
        fresh = self._state.with_suffix(".new")
        fresh.write_text(state.text())
        fresh.replace(self._state)

    def namespace(self, text: str) -> None:
        """Let the reader find itself in this namespace of process ids."""
        link = self.proc / "self/ns/pid"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(text)

    def process(self, pid: int, name: str) -> None:
        """Let a process be there."""
        folder = self.proc / str(pid)
        folder.mkdir(parents=True)
        (folder / "comm").write_text(f"{name}\n")

    def threads(self) -> int:
        """How many threads the reader has now."""
        return len(list(Path(f"/proc/{self._child.pid}/task").iterdir()))

    def read(self) -> RigFacts:
        """All cards now."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(b"\n")
        self._child.stdin.flush()
        ready, _, _ = select.select([self._child.stdout], [], [], _PATIENCE)
        assert ready, "the reader did not answer"
        return _facts(json.loads(self._child.stdout.readline()))

    def cards(self) -> tuple[Card, ...]:
        """The cards of one read that has to succeed."""
        cards = self.read().cards
        assert isinstance(cards, Known), cards
        return cards.value


def _reading(raw: dict[str, Any]) -> Reading[Any]:
    return Unknown(raw["reason"]) if "reason" in raw else Known(raw["value"])


def _card(raw: dict[str, Any]) -> Card:
    values: dict[str, Any] = {f.name: raw[f.name] if f.name in _PLAIN else _reading(raw[f.name]) for f in fields(Card)}
    holders: Reading[Any] = values["processes"]
    if isinstance(holders, Known):
        values["processes"] = Known(
            tuple(CardProcess(entry["pid"], _reading(entry["used_bytes"]), entry["name"]) for entry in holders.value)
        )
    return Card(**values)


def _facts(raw: dict[str, Any]) -> RigFacts:
    cards = _reading(raw["cards"])
    return RigFacts(
        cards=Known(tuple(_card(card) for card in cards.value)) if isinstance(cards, Known) else cards,
        nvlink=tuple((low, high) for low, high in raw["nvlink"]),
        driver=_reading(raw["driver"]),
        cuda=_reading(raw["cuda"]),
        origin=raw["origin"],
        notes=tuple(raw["notes"]),
    )
