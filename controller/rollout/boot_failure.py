"""Why a boot failed, in the engine's own words where it has any. Pure."""

from __future__ import annotations

from controller.dialects.dialect import Diagnosis
from controller.dialects.registry import dialect
from controller.model.fields import duration_text
from controller.model.observed import Container
from controller.model.resolved import Serving
from controller.model.situation import Situation
from controller.model.track import Failure, FaultClass

KEPT_LINES = 20
"""Log lines that a failure keeps: enough for a stack trace's end and the lines above it."""


def boot_failure(
    situation: Situation, container: Container, quiet: float, age: float, cap: float, serving: Serving | None
) -> Failure:
    """A boot that went on too long: `age` seconds reached `cap`, or nothing moved for `quiet` seconds."""
    lines = _lines(situation, container)
    phase = dialect(serving.dialect).phase(lines) if serving else ""
    at_phase = f", last seen at: {phase}" if phase else ""
    if age >= cap:
        text = f"not ready {duration_text(round(age))} after its start{at_phase}"
        return _failure(situation, container, Diagnosis("BootTimeout", text, FaultClass.TRANSIENT), lines)
    text = f"no progress for {duration_text(round(quiet))}{at_phase}"
    return _failure(situation, container, Diagnosis("BootStalled", text, FaultClass.TRANSIENT), lines)


def exit_failure(situation: Situation, container: Container, serving: Serving | None) -> Failure:
    """A container that ended by itself: the log's diagnosis, else the exit code with the last line."""
    lines = _lines(situation, container)
    named = dialect(serving.dialect).diagnose(lines) if serving else None
    return _failure(situation, container, _out_of_memory(container) or named or _plain_exit(container, lines), lines)


def _out_of_memory(container: Container) -> Diagnosis | None:
    if not container.oom_killed:
        return None
    return Diagnosis("HostOutOfMemory", "killed by the kernel at its memory limit", FaultClass.DETERMINISTIC)


def _plain_exit(container: Container, lines: tuple[str, ...]) -> Diagnosis:
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    text = f"exited with code {container.exit_code}" + (f"; its last line: {last[:200]}" if last else "; it printed nothing")
    return Diagnosis("ExitedUnexpectedly", text, FaultClass.DETERMINISTIC)


def _lines(situation: Situation, container: Container) -> tuple[str, ...]:
    log = situation.observed.logs.get(container.id)
    return log.lines if log else ()


def _failure(situation: Situation, container: Container, diagnosis: Diagnosis, lines: tuple[str, ...]) -> Failure:
    identity = container.identity
    return Failure(
        instance=identity.instance if identity else "",
        spec_hash=identity.spec_hash if identity else "",
        container=container.id,
        reason=diagnosis.reason,
        message=diagnosis.message,
        fault=diagnosis.fault,
        at=situation.now.wall,
        log=lines[-KEPT_LINES:],
    )
