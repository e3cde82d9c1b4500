"""The program: reads what it is to be, boots, serves, and ends on TERM.

`--controlled NAME` has it told by a parent through stdin, `--listen-fd N` has it take a socket that is bound already; all other
flags are those of the engine.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from controller.simulation.engine.config import Config, ConfigError, configure
from controller.simulation.engine.control import first_config, follow
from controller.simulation.engine.decoder import Decoder
from controller.simulation.engine.life import Life
from controller.simulation.engine.log import Log
from controller.simulation.engine.manners import MANNERS
from controller.simulation.engine.output import leave
from controller.simulation.engine.script import TERMINATED
from controller.simulation.engine.script_fields import SCALARS
from controller.simulation.engine.server import Server, bound
from controller.simulation.engine.timeline import Timeline

STOPPING = (signal.SIGTERM, signal.SIGINT)


def main(argv: Sequence[str]) -> NoReturn:
    """Boot and serve until the end."""
    born = time.monotonic()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # in every thread: the main one waits for them
    options, flags = _options().parse_known_args(argv)
    try:
        config = first_config() if options.controlled else configure(flags, os.environ)
    except ConfigError as error:
        leave(2, f"error: {error}", stderr=True)
    taken = options.listen_fd is not None
    listener = socket.socket(fileno=options.listen_fd) if taken else bound(config.host, config.port)
    decoder = _begun(replace(config, port=listener.getsockname()[1]), listener, born)
    if options.controlled:
        threading.Thread(target=follow, args=(decoder.life,), daemon=True).start()
    _await_stop(decoder.life)
    _end(decoder)


def _options() -> argparse.ArgumentParser:
    fields = "--sim-" + ", --sim-".join(name.replace("_", "-") for name in SCALARS)
    parser = argparse.ArgumentParser(
        prog="python -m controller.simulation.engine",
        description="A simulated engine that needs no model and no GPU.",
        epilog=f"--dialect is one of {', '.join(MANNERS)}; its script is told by {fields}.",
        allow_abbrev=False,
    )
    parser.add_argument("--controlled", metavar="NAME", help="read a configuration and scripts from stdin")
    parser.add_argument("--listen-fd", type=int, metavar="N", help="a bound socket to listen on")
    return parser


def _begun(config: Config, listener: socket.socket, born: float) -> Decoder:
    """The engine with its time running."""
    life, log = Life(config.script, born), Log(config)
    decoder = Decoder(config, life, log)
    timeline = Timeline(life, log, decoder, MANNERS[config.dialect], Server(listener, decoder).listen)
    threading.Thread(target=timeline.run, daemon=True).start()
    return decoder


def _await_stop(life: Life) -> None:
    while signal.sigwait(STOPPING) == signal.SIGTERM and life.script.ignore_term:
        pass


def _end(decoder: Decoder) -> NoReturn:
    """Refuse new requests, let the running ones finish up to the limit, and end the process."""
    life, was_loading = decoder.life, decoder.life.loading
    if not was_loading:
        _drain(decoder)
    time.sleep(life.script.term_s)
    code, line = (TERMINATED, "stopped while loading") if was_loading else (0, "stopped")
    script = life.script
    leave(code if script.term_code is None else script.term_code, "" if script.log is not None else line)


def _drain(decoder: Decoder) -> None:
    life, told = decoder.life, decoder.life.script.drain_s
    life.draining = True
    limit_s = MANNERS[decoder.config.dialect].drain_s if told is None else told
    with life.changed:
        life.changed.wait_for(lambda: not decoder.running + decoder.waiting, limit_s)


if __name__ == "__main__":
    main(sys.argv[1:])
