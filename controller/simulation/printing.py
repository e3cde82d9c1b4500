"""What a scripted engine prints, at which age: the script's own lines, or the phrases of its engine type."""

from __future__ import annotations

import time
from collections.abc import Sequence

from controller.simulation.engine.config import Config
from controller.simulation.engine.phrases import READY, loading
from controller.simulation.engine.script import Script
from controller.simulation.life import Piece, Printed


def printing(config: Config, started_at: float) -> Printed:
    """What an engine of this configuration prints that started at this Unix time."""

    def printed(script: Script) -> Sequence[Piece]:
        pieces = _phrases(config, script, started_at) if script.log is None else _own(script)
        return pieces if script.stall_s is None else [piece for piece in pieces if piece.at < script.stall_s]

    return printed


def _own(script: Script) -> list[Piece]:
    return [Piece(line.at_s, f"{line.text}\n") for line in script.log or ()]


def _phrases(config: Config, script: Script, started_at: float) -> list[Piece]:
    told = [(share * script.load_s, text) for share, text in loading(config.dialect, script.metrics)]
    told += [(script.load_s, text) for text in READY[config.dialect]]
    return [Piece(at, _filled(text, config, started_at + at)) for at, text in told]


def _filled(text: str, config: Config, wall: float) -> str:
    return text.format(
        model=f"/models/{config.names[0]}",
        host=config.host,
        port=config.port,
        slots=config.slots,
        context=config.context,
        pool=config.slots * config.context,
        now=time.strftime("%m-%d %H:%M:%S", time.gmtime(wall)),
    )
