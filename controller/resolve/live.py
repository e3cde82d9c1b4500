"""Live settings: what the entry writes, else what `defaults` writes, else the built-in value, key by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from controller.model.desired import Boot, Drain, Gates, Health, Restart, Rollback
from controller.model.fields import duration_text
from controller.model.problem import Place, Problem
from controller.model.resolved import LiveSettings, Origin
from controller.resolve.choices import Chosen
from controller.resolve.estate import EntrySource, Estate
from controller.resolve.origins import DEFAULT, DEFAULTS, ESTATE, origin, value_text

B = TypeVar("B", bound=BaseModel)
BLOCKS: Final = ("boot", "health", "drain", "restart", "rollback", "gates")
_LIMITS: Final = ("vram_growth_mib", "tps_min_ratio", "silent_empty_max_ratio")


@dataclass(frozen=True, slots=True)
class LiveSource:
    """The estate's own values for all instances, with their origins; made once for all instances."""

    estate: Estate
    blocks: dict[str, BaseModel]
    origins: dict[str, Origin]


def live_source(estate: Estate) -> LiveSource:
    """What holds for an entry that writes nothing."""
    blocks = {name: getattr(estate.defaults, name) for name in BLOCKS}
    written = estate.defaults.model_fields_set if estate.defaults_document else set()
    origins: dict[str, Origin] = {}
    for name, block in blocks.items():
        for key in type(block).model_fields:
            place = None
            if name in written and key in block.model_fields_set and estate.defaults_document:
                place = estate.defaults_document.place(("defaults", name, key))
            source = DEFAULTS if place else DEFAULT
            origins[f"{name}.{key}"] = Origin(_text(name, getattr(block, key)), place, source)
    return LiveSource(estate, blocks, origins)


def live_settings(
    source: EntrySource, shared: LiveSource, stop_grace: Chosen[float] | None, report: list[Problem]
) -> tuple[LiveSettings, dict[str, Origin]]:
    """The settings of one entry and where each came from; `stop_grace` is the template's own time to stop."""
    entry = source.entry
    origins = dict(shared.origins)
    blocks = dict(shared.blocks)
    if stop_grace is not None and origins["drain.term"].source == DEFAULT:
        blocks["drain"] = blocks["drain"].model_copy(update={"term": stop_grace.value})
        origins["drain.term"] = Origin(duration_text(stop_grace.value), stop_grace.place, stop_grace.source)
    for name in BLOCKS:
        if (own := getattr(entry, name)) is not None:
            blocks[name] = _over(blocks[name], own)
            origins |= {f"{name}.{key}": _own(source, name, key, own) for key in own.model_fields_set}
    settings = LiveSettings(
        boot=_as(Boot, blocks["boot"]),
        health=_as(Health, blocks["health"]),
        drain=_as(Drain, blocks["drain"]),
        restart=_as(Restart, blocks["restart"]),
        rollback=_as(Rollback, blocks["rollback"]),
        gates=_as(Gates, blocks["gates"]),
        depends_on=entry.depends_on,
        share=entry.share,
        suspend=entry.suspend,
        waive=entry.waive,
    )
    _check_gates(source, settings.gates, origins, report)
    return settings, origins


def _over(below: B, own: B) -> B:
    return below.model_copy(update={key: getattr(own, key) for key in own.model_fields_set})


def _as(kind: type[B], block: BaseModel) -> B:
    assert isinstance(block, kind)
    return block


def _own(source: EntrySource, block: str, key: str, own: BaseModel) -> Origin:
    return Origin(_text(block, getattr(own, key)), source.place((block, key)), ESTATE)


def _text(block: str, value: Any) -> str:
    """All floats but those of the gates are durations."""
    return duration_text(value) if isinstance(value, float) and block != "gates" else value_text(value)


def _check_gates(source: EntrySource, gates: Gates, origins: dict[str, Origin], report: list[Problem]) -> None:
    """A gate that is switched off says why."""
    if (gates.reason or "").strip():
        return
    for limit in _LIMITS:
        if getattr(gates, limit) is None:
            found = origins[f"gates.{limit}"]
            path = f"defaults.gates.{limit}" if found.source == DEFAULTS else ""
            problem = source.problem(("gates", limit), "gates", f"{limit} is switched off without a reason", "add reason: text")
            report.append(problem if not path else _moved(problem, path, found.place))


def _moved(problem: Problem, path: str, place: Place | None) -> Problem:
    return Problem(problem.severity, problem.rule, problem.message, problem.hint, path, place)


def state_origins(source: EntrySource) -> dict[str, Origin]:
    """The live keys that are no blocks."""
    entry = source.entry
    written = entry.model_fields_set
    keys: dict[str, Callable[[], Any]] = {
        "state": lambda: entry.state.value,
        "share": lambda: entry.share,
        "depends_on": lambda: entry.depends_on,
        "suspend": lambda: entry.suspend and entry.suspend.reason,
        "waive": lambda: tuple(waiver.rule for waiver in entry.waive),
    }
    shown = {key: read() for key, read in keys.items() if key in written or key in ("state", "share")}
    return {
        key: origin(value, source.place((key,)) if key in written else None, ESTATE if key in written else DEFAULT)
        for key, value in shown.items()
    }
