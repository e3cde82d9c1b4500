"""The files of overlays in the state folder, and a warning for each that an estate wants and that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.desired import RunState
from controller.model.payload import PayloadNeed
from controller.model.problem import Problem, Severity
from controller.model.reading import Known
from controller.model.resolved import Resolved
from controller.settings import Settings
from controller.store.payloads import FilePayloads

RULE: Final = "OverlayPayloadMissing"


def payloads_of(settings: Settings) -> FilePayloads:
    """The files of overlays in this state folder."""
    return FilePayloads(settings.state / "overlays")


def payload_warnings(resolved: Resolved, payloads: FilePayloads) -> Iterator[Problem]:
    """What a person still has to bring before instances can be made; never an error, for what runs goes on running."""
    for instance in resolved.instances:
        for need in instance.payloads if instance.state is RunState.RUNNING else ():
            if need.remedy and not _is_there(need, payloads):
                message = f"{instance.name}: the files of overlay {need.name} are not there"
                yield Problem(Severity.WARNING, RULE, message, need.remedy, "overlays", need.place)


def _is_there(need: PayloadNeed, payloads: FilePayloads) -> bool:
    return need.payload is not None and payloads.has(need.payload.key) == Known(True)
