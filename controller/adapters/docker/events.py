"""The port ContainerEvents on a Docker engine: wake-ups, and what the engine remembers of kills and stops."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from controller.adapters.docker.wire import Silence, Wire, documents
from controller.model.identity import LABEL_INSTANCE
from controller.model.observed import HandSignal

WAKING: Final = ("create", "start", "die", "stop", "kill", "oom", "destroy", "rename", "pause", "unpause", "update")
"""Chosen at the engine, for containers with our labels only: health checks and restarts of others flood the stream."""
_SIGNS: Final = ("kill", "stop", "die", "start")
_ENDING_SIGNALS: Final = frozenset({"2", "3", "6", "9", "15", "SIGINT", "SIGQUIT", "SIGABRT", "SIGKILL", "SIGTERM"})
_OTHER_SIGNAL_S: Final = 10.0
"""A reload signal (HUP, USR1) is to blame for a death only when that follows at once."""
_SESSION_S: Final = 3600.0


class DockerEvents:
    """The event stream over the wire."""

    def __init__(self, wire: Wire) -> None:
        """Use this connection."""
        self._wire = wire

    def follow(self, wake: Callable[[str], None], stopping: Callable[[], bool]) -> None:
        """Call `wake` for each event until `stopping` says so or the stream ends; then return or raise EngineUnreachable.

        A stream may be dead without saying so. After some silence it is opened anew from the last event on, which also
        gives `stopping` its turn.
        """
        since, quiet = "", True
        while quiet and not stopping():
            since, quiet = self._listen(wake, stopping, since)

    def hand_signal(self, container: str, since: float, until: float) -> HandSignal | None:
        """The last kill or stop of a container in a span of Unix time, as the engine still remembers it."""
        until = min(until, time.time())  # the engine would keep the stream open until a later moment comes
        params = {
            "since": f"{since:.9f}",
            "until": f"{until:.9f}",
            "filters": json.dumps({"type": ["container"], "container": [container], "event": list(_SIGNS)}),
        }
        bound = self._wire.bounds.docker_read
        with self._wire.stream("GET", "/events", params, silence=bound, total=bound) as pieces:
            return last_signal(container, documents(pieces))

    def _listen(self, wake: Callable[[str], None], stopping: Callable[[], bool], since: str) -> tuple[str, bool]:
        """One connection; the moment after its last event, and whether it ended by silence."""
        params = {"filters": json.dumps({"type": ["container"], "event": list(WAKING), "label": [LABEL_INSTANCE]})}
        if since:
            params["since"] = since
        try:
            with self._wire.stream("GET", "/events", params, silence=self._wire.bounds.docker_read, total=_SESSION_S) as pieces:
                for event in documents(pieces):
                    since = _after(event) or since
                    wake(f"docker-{event.get('Action', 'event')}")
                    if stopping():
                        return since, False
        except Silence:
            return since, True
        return since, False


def last_signal(container: str, events: Iterable[Mapping[str, Any]]) -> HandSignal | None:
    """Who ended the container last: a person's kill or stop, or (None) itself, judged by the order of the events.

    `docker kill` leaves kill, die; `docker stop` leaves kill, die, stop; an exit of its own or of the OOM killer only die.
    """
    last: HandSignal | None = None
    pending: HandSignal | None = None
    for event in events:
        action, at = event.get("Action"), _seconds(event)
        if action == "kill":
            pending = HandSignal(container, "kill", at)
            last = pending if _ends(event) else last
        elif action == "die":
            blamed = pending is not None and (pending is last or at - pending.at <= _OTHER_SIGNAL_S)
            last, pending = (pending if blamed else None), None
        elif action == "stop":
            last = HandSignal(container, "stop", at)
        elif action == "start":
            pending = None
    return last


def _ends(event: Mapping[str, Any]) -> bool:
    return str(_attributes(event).get("signal", "9")) in _ENDING_SIGNALS


def _attributes(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return (event.get("Actor") or {}).get("Attributes") or {}


def _seconds(event: Mapping[str, Any]) -> float:
    nanos = event.get("timeNano")
    return float(nanos) / 1e9 if nanos else float(event.get("time") or 0)


def _after(event: Mapping[str, Any]) -> str:
    """The engine's time of an event plus one nanosecond, in its own notation: `since` includes its moment."""
    nanos = event.get("timeNano")
    if not nanos:
        return ""
    seconds, rest = divmod(int(nanos) + 1, 1_000_000_000)
    return f"{seconds}.{rest:09d}"
