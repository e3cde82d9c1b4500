"""What a demo says to the person who tries it: what it is, what can be asked of it, and what is worth trying. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from controller.model.profile import DialectName
from controller.model.resolved import ResolvedInstance

WHAT_IT_IS: Final = "Steward keeps simulated engines as a file says: no GPU, no Docker."
_LENGTH: Final = re.compile(r"^[^#\n]*\b(max_model_len: *(\d+))", re.MULTILINE)
_PORT: Final = re.compile(r"^[^#\n]*\b(port: *(\d+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Places:
    """What the commands name: the program as it was started, and files of the demo."""

    steward: str
    estate: str
    rig: str
    state: str


def opening(places: Places, address: str, notes: Sequence[str]) -> str:
    """Where everything is, before anything happens."""
    where = (("the estate", places.estate), ("the rig", places.rig), ("the API", f"http://{address}/api/v1/status"))
    lines = [WHAT_IT_IS, *(f"  {name:<12}{place}" for name, place in where), *(f"  note: {note}" for note in notes)]
    return "\n".join(lines) + "\n"


def guide(places: Places, estate: str, request: str, victim: str, pid: int) -> str:
    """What to ask and what to try; `estate` is the text of the estate file, `pid` the process of the victim's engine."""
    lines = ["", "All engines are ready. Try in another terminal:"]
    if request:
        lines += ["  ask:", f"    {request}"]
    for head, commands in _tries(places, estate, victim, pid):
        lines += [f"  {head}", *(f"    {command}" for command in commands)]
    lines.append("Ctrl-C here ends the demo.")
    return "\n".join(lines) + "\n"


def _tries(places: Places, estate: str, victim: str, pid: int) -> Sequence[tuple[str, list[str]]]:
    tries = []
    file = shlex.quote(places.estate)
    if found := _LENGTH.search(estate):
        longer = f"max_model_len: {int(found[2]) * 2}"
        tries.append(("edit the estate in your editor, or paste:", [_sed(found[1], longer, file)]))
    if found := _PORT.search(estate):
        wrong = found[1].replace("port", "prot")
        tries.append(("break it, then mend it:", [_sed(found[1], wrong, file), _sed(wrong, found[1], file)]))
    if pid:
        tries.append((f"kill the engine of {victim}, as a crash would:", [f"kill -9 {pid}"]))
    tries.append(("watch:", [f"{places.steward} status --watch --state {shlex.quote(places.state)}"]))
    return tries


def _sed(old: str, new: str, file: str) -> str:
    return f"sed -i 's/{old}/{new}/' {file}"


def request_for(instances: Sequence[ResolvedInstance]) -> str:
    """A command that any shell takes, to the first engine that completes text without a key."""
    for instance in instances:
        serving = instance.serving
        if serving.api_key is None and serving.dialect is not DialectName.GENERIC and serving.served_names:
            host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(serving.bind, serving.bind)
            body = json.dumps({"model": serving.served_names[0], "prompt": "hello", "max_tokens": 8})
            address = f"http://{host}:{serving.port}/v1/completions"
            return f"curl -s {address} -H 'Content-Type: application/json' -d {shlex.quote(body)}"
    return ""
