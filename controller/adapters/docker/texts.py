"""The port TextSearch on a Docker engine: `grep` inside the container, which sees its files as its engine does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from controller.adapters.docker.wire import Wire, segment
from controller.errors import SpecFault
from controller.model.reading import Known, Reading, Unknown

_SEARCH: Final = 'text=$1; shift; grep -rqsFe "$text" -- "$@" >/dev/null'
_FOUND: Final = 0
_NO_PROGRAM: Final = frozenset({126, 127})


class DockerTexts:
    """Looks into files over the wire."""

    def __init__(self, wire: Wire) -> None:
        """Use this connection."""
        self._wire = wire

    def find_text(self, container: str, text: str, files: Sequence[str]) -> Reading[bool]:
        """Whether one of the files, or of the files below a folder, holds the text; Unknown where the image has no grep."""
        command = ["sh", "-c", _SEARCH, "sh", text, *files]
        body = {"Cmd": command, "AttachStdin": False, "AttachStdout": True, "AttachStderr": False, "Tty": False}
        made = self._wire.post(f"/containers/{segment(container)}/exec", body=body)
        path = f"/exec/{segment(made['Id'])}"
        try:
            self._wire.post(f"{path}/start", body={"Detach": False, "Tty": False}, timeout=self._wire.bounds.inspect)
        except SpecFault as refusal:
            return Unknown(f"nothing can be run in the container: {refusal}")
        return _verdict(self._wire.get(f"{path}/json"))


def _verdict(document: Any) -> Reading[bool]:
    """Exit codes of grep: 0 found, 1 not found, 2 a file could not be read and none has it."""
    code = document.get("ExitCode")
    if document.get("Running") or code is None:
        return Unknown("the search in the container did not end")
    if code in _NO_PROGRAM:
        return Unknown("the container has no grep")
    return Known(code == _FOUND)
