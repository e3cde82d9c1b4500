"""Lets a parent process say what an engine does: its configuration on the first line of stdin, a whole script on each other."""

from __future__ import annotations

import sys
from typing import Final

from controller.simulation.engine.config import Config, ConfigError
from controller.simulation.engine.life import Life
from controller.simulation.engine.output import leave
from controller.simulation.engine.script import TERMINATED
from controller.simulation.engine.wire import config_from_json, script_from_json

LONGEST_LINE: Final = 4 * 1024 * 1024


def first_config() -> Config:
    """What the parent wants; raises ConfigError."""
    return config_from_json(_line())


def follow(life: Life) -> None:
    """Do what the parent says from line to line, and end with it at once."""
    while True:
        try:
            life.follow(script_from_json(_line()))
        except ConfigError as error:
            leave(2, f"error: {error}", stderr=True)


def _line() -> str:
    line = sys.stdin.readline(LONGEST_LINE)
    if not line:
        leave(TERMINATED)
    if not line.endswith("\n"):
        raise ConfigError(f"a line of more than {LONGEST_LINE} characters, or half of one")
    return line
