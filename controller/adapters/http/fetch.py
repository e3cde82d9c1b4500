"""One bounded HTTP exchange with an engine; what comes back is an answer or the reason why there is none."""

from __future__ import annotations

import math
import socket
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import httpx

from controller.adapters.http.checks import Answer, shorten
from controller.adapters.http.deadline import DeadlineTransport, Unreachable
from controller.model.observed import ServePhase
from controller.model.resolved import Serving
from controller.ports import ProbeTarget
from controller.settings import Bounds

_EVERYWHERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where to ask for what listens on all addresses."""
_PATH_SAFE: Final = "/?&=%:;,+@!$'()*~"
_LINGER_S: Final = 0.25
"""How long a connection must stay open to count: Docker's proxy accepts for a container that does not listen."""
_STRUCK: Final = "***"
"""In place of the api key, should an engine repeat it in an error."""
_CANNOT_SEND: Final = "the request cannot be sent: is the api key one line of plain text?"


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nothing that could be judged, and the phase that this shows."""

    phase: ServePhase
    detail: str


@dataclass(frozen=True, slots=True)
class Question:
    """One request; `document` is sent as JSON by POST."""

    path: str
    timeout_s: float
    document: dict[str, object] | None = None


def address(serving: Serving) -> tuple[str, int]:
    """The host and port at which a probe asks."""
    return _EVERYWHERE.get(serving.bind, serving.bind), serving.port


class Fetcher:
    """Sends requests from any thread, past every proxy setting of the environment, and follows no redirect."""

    def __init__(self, bounds: Bounds) -> None:
        """At most one request for each worker, no body larger than `http_body`."""
        self._body = bounds.http_body
        self._client = httpx.Client(
            transport=DeadlineTransport(bounds.workers),
            trust_env=False,
            follow_redirects=False,
            headers={"accept-encoding": "identity", "user-agent": "steward"},
        )

    def ask(self, target: ProbeTarget, question: Question) -> Answer | NoAnswer:
        """Send it and read the whole answer within its timeout; never raises for what the other side does."""
        host, port = address(target.serving)
        headers = {b"authorization": b"Bearer " + target.api_key.encode()} if target.api_key else {}
        method = "GET" if question.document is None else "POST"
        began = time.monotonic()
        try:
            raw_path = quote(question.path, safe=_PATH_SAFE).encode()
            url = httpx.URL(scheme="http", host=host, port=port, raw_path=raw_path)
            with self._client.stream(
                method, url, headers=headers, json=question.document, timeout=question.timeout_s
            ) as response:
                return self._answer(response, target, question.path, began)
        except httpx.TimeoutException:
            return NoAnswer(ServePhase.SILENT, f"{question.path} gave no whole answer within {question.timeout_s:g} s")
        except httpx.ConnectError as error:
            return _refused(f"{host}:{port}", str(error))
        except Unreachable as error:
            return _unreachable(f"{host}:{port}", str(error))
        except httpx.LocalProtocolError:
            return NoAnswer(ServePhase.FAILING, _CANNOT_SEND)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            words = shorten(str(error).replace(target.api_key or "\0", _STRUCK))
            return NoAnswer(ServePhase.FAILING, f"{question.path} gives no HTTP answer: {words}")

    def _answer(self, response: httpx.Response, target: ProbeTarget, path: str, began: float) -> Answer | NoAnswer:
        body = bytearray()
        for part in response.iter_raw():
            body += part
            if len(body) > self._body:
                return NoAnswer(ServePhase.FAILING, f"{path} answers more than {self._body} bytes")
        started = _number(response.headers.get("process-start-time-unix", ""))
        if response.status_code != httpx.codes.OK and target.api_key:
            body = body.replace(target.api_key.encode(), _STRUCK.encode())
        return Answer(response.status_code, bytes(body), time.monotonic() - began, started)

    def knock(self, target: ProbeTarget) -> NoAnswer | None:
        """Connect over TCP and hang up; None when something listens there."""
        host, port = address(target.serving)
        try:
            with socket.create_connection((host, port), target.timeout_s) as connection:
                connection.settimeout(min(_LINGER_S, target.timeout_s))
                return None if connection.recv(1) else _refused(f"{host}:{port}", "hung up without an answer")
        except ConnectionError as error:
            return _refused(f"{host}:{port}", (error.strerror or "hung up").lower())
        except TimeoutError:
            return None
        except (OSError, UnicodeError) as error:
            return _unreachable(f"{host}:{port}", getattr(error, "strerror", None) or str(error))

    def close(self) -> None:
        """Close what is open."""
        self._client.close()


def _refused(where: str, how: str) -> NoAnswer:
    return NoAnswer(ServePhase.REFUSED, f"nothing listens on {where} yet: {how}")


def _unreachable(where: str, how: str) -> NoAnswer:
    """A fault of the settings or the network, not an engine that loads."""
    return NoAnswer(ServePhase.FAILING, f"{where} cannot be reached: {how}")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
