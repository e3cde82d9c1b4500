"""What a health page answers: what the script says it does, else the manner of the engine type."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from controller.simulation.engine.decoder import Decoder
from controller.simulation.engine.manners import MANNERS
from controller.simulation.engine.request import Refusal
from controller.simulation.engine.script import Script

SILENCE_LIMIT_S: Final = 600.0
TOKEN_LIMIT_S: Final = 20.0
"""How long a health that generates waits for its token."""
FIRST_LOOK_S: Final = 1.0
"""How long it waits before it looks for it at all."""
_POLL_S: Final = 0.1


def check_told(script: Script, gone: Callable[[], bool]) -> None:
    """Answer as the script wants it in every state: raises Refusal, or ConnectionAbortedError after a long silence."""
    if script.health == "silent":
        ends = time.monotonic() + SILENCE_LIMIT_S
        while not gone() and time.monotonic() < ends:
            time.sleep(_POLL_S)
        raise ConnectionAbortedError
    if script.health is not None:
        raise Refusal(int(script.health), "unavailable_error", "unhealthy")


def check_health(decoder: Decoder) -> None:
    """Raise Refusal where an engine that serves is not healthy by the manner of its type."""
    if decoder.life.script.busy_503 and decoder.busy:
        raise Refusal(503, "unavailable_error", "busy")
    if MANNERS[decoder.config.dialect].generating_health:
        check_ready(decoder)
        _await_token(decoder)


def check_ready(decoder: Decoder) -> None:
    """Raise Refusal while it drains."""
    if decoder.life.draining:
        raise Refusal(503, "unavailable_error", "Shutting down")


def _await_token(decoder: Decoder) -> None:
    """A hung engine counts as healthy here: its script says so, and a token of another request would do the same."""
    time.sleep(FIRST_LOOK_S)
    ends = time.monotonic() + TOKEN_LIMIT_S - FIRST_LOOK_S
    while decoder.prefilling_s:
        if time.monotonic() >= ends:
            raise Refusal(503, "unavailable_error", "no response from the detokenizer for the last 20 seconds")
        time.sleep(min(decoder.prefilling_s, _POLL_S))
