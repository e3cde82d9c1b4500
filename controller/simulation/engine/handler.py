"""The HTTP face of an engine: one connection, its requests, their answers and refusals."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from itertools import chain
from typing import Any, Final

from controller.simulation.engine.answers import last_piece, piece, token, whole
from controller.simulation.engine.decoder import Decoder
from controller.simulation.engine.health import check_health, check_ready, check_told
from controller.simulation.engine.manners import MANNERS
from controller.simulation.engine.pages import Page, names, page_of
from controller.simulation.engine.request import ROUTES, Refusal, Request, request_of

READ_LIMIT_S: Final = 60.0
BODY_LIMIT: Final = 16 * 1024 * 1024


class Handler(BaseHTTPRequestHandler):
    """One connection to an engine."""

    protocol_version = "HTTP/1.1"
    timeout = READ_LIMIT_S

    def __init__(self, decoder: Decoder, *connection: Any) -> None:
        """Answers all that comes over a connection before it returns."""
        self._decoder = decoder
        self._manner = MANNERS[decoder.config.dialect]
        self._route = ""
        super().__init__(*connection)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the log for the engine's own lines."""

    def do_GET(self) -> None:
        self._answer(self._show)

    def do_POST(self) -> None:
        self._answer(self._complete)

    def _answer(self, work: Callable[[bytes], None]) -> None:
        """Do the work; a refusal becomes an error body, a client that is gone the end of the connection."""
        self._route = self.path.partition("?")[0]
        try:
            body = self._body()
            if self._is_health():
                check_told(self._decoder.life.script, self._gone)
            self._admit()
            work(body)
        except Refusal as refusal:
            error = {"code": refusal.status, "type": refusal.kind, "message": refusal.message}
            self._send(Page(json.dumps({"error": error})), refusal.status)
        except ConnectionAbortedError:
            self.close_connection = True

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length") or "0"
        if not length.isdecimal() or self.headers.get("Transfer-Encoding"):
            self.close_connection = True
            raise Refusal(411, "invalid_request_error", "a body needs its length")
        if int(length) > BODY_LIMIT:
            self.close_connection = True
            raise Refusal(413, "invalid_request_error", f"a body has at most {BODY_LIMIT} bytes")
        return self.rfile.read(int(length))

    def _is_health(self) -> bool:
        return self.command == "GET" and (self._route in self._manner.health_paths or self._decoder.config.dialect == "generic")

    def _admit(self) -> None:
        """Refuse what comes while loading or draining, or without the key."""
        config, life = self._decoder.config, self._decoder.life
        if life.loading:
            raise Refusal(503, "unavailable_error", "Loading model")
        if life.draining and self.command == "POST":
            raise Refusal(503, "unavailable_error", "Shutting down")
        key = self.headers.get("Authorization")
        if config.api_key and self._route.startswith("/v1/") and not self._is_health() and key != f"Bearer {config.api_key}":
            raise Refusal(401, "authentication_error", "Invalid API Key")

    def _show(self, body: bytes) -> None:
        del body
        if self._route == self._manner.ready_path:
            check_ready(self._decoder)
            self._send(Page('{"status":"ok"}'))
        elif self._is_health():
            check_health(self._decoder)
            self._send(Page('{"status":"ok"}'))
        else:
            self._send(page_of(self._decoder, self._route))

    def _complete(self, body: bytes) -> None:
        """Answer a completion or chat request, in one piece or as a stream."""
        decoder = self._decoder
        if self._route not in ROUTES or decoder.config.dialect == "generic":
            raise Refusal(404, "not_found_error", f"{self._route} is not served here")
        served, context, script = names(decoder), decoder.config.context, decoder.life.script
        request = request_of(self._route, body, served, self._manner.any_model, context, script.answer_tokens)
        with decoder.slot(request, self._gone) as numbers:
            if request.stream:
                self._stream(request, numbers)
            else:
                answers = self._decoder.life.script.answers
                tokens = [token(answers, request, number) for number in numbers]
                self._send(Page(whole(request, answers, "".join(tokens), len(tokens))))

    def _stream(self, request: Request, numbers: Iterator[int]) -> None:
        """Send an answer as server-sent events, chunked so that a client can tell a cut stream from a finished one."""
        answers = self._decoder.life.script.answers
        self._begin(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for data in chain(self._pieces(request, answers, numbers), ("[DONE]",)):
            event = f"data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def _pieces(self, request: Request, answers: str, numbers: Iterator[int]) -> Iterator[str]:
        tokens = 0
        for number in numbers:
            tokens = number + 1
            yield piece(request, answers, token(answers, request, number))
        yield last_piece(request, answers, tokens)

    def _begin(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, page: Page, status: int = 200) -> None:
        body = page.text.encode()
        self._begin(status, page.content_type, {"Content-Length": str(len(body)), **page.headers})
        self.wfile.write(body)

    def _gone(self) -> bool:
        """Whether the client has hung up."""
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        return bool(poll.poll(0)) and not self.connection.recv(1, socket.MSG_PEEK)
