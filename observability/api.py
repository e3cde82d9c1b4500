"""The HTTP API: reading for everybody who reaches it, commands through the unix socket alone.

Every page is made from the board, the metrics or the store; only commands and logs, which the socket alone serves, ask the loop
and the container engine. No page needs the internet, there is no CORS, and every error is a short JSON object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as RoutingError

from controller.errors import NotFound, StewardError, UsageError
from controller.model.events import Event
from controller.model.observed import LogExcerpt
from controller.model.status import Status
from controller.ports import Commands
from observability.board import Board
from observability.daemon_thread import in_daemon_thread
from observability.documents import event_document, instance_document, plan_document, status_document
from observability.health import health, readiness
from observability.metrics import Metrics
from observability.text.status import status_text
from observability.wire import command_from, json_bytes, reply_document

ReadEvents: TypeAlias = Callable[[int, int], tuple[Event, ...]]
"""Journal lines after a sequence number, at most so many; as in ports.Store.events."""
ReadLog: TypeAlias = Callable[[str, int, bool], LogExcerpt]
"""The last lines of an instance's container, or of the one before; raises NotFound or UsageError."""

COMMAND_BYTES: Final = 65536
EVENTS_AT_MOST: Final = 1000
LINES_AT_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages for readers."""

    board: Board
    metrics: Metrics
    events_after: ReadEvents

    async def healthz(self) -> Response:
        """Whether the process is worth keeping."""
        return _answer(*health(self.board.pass_age()))

    async def readyz(self) -> Response:
        """Whether there is something to read."""
        return _answer(*readiness(self.board.status))

    async def exposition(self, request: Request) -> Response:
        """The page for Prometheus."""
        body, content_type = self.metrics.exposition(request.headers.get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})

    async def status(
        self,
        form: Annotated[Literal["json", "text"], Query(alias="format")] = "json",
        width: Annotated[int, Query(ge=20, le=1000)] = 160,
        color: bool = False,
        verbose: bool = False,
    ) -> Response:
        """The whole rig, as a document or as the text of `steward status`."""
        status = self._shown()
        if form == "text":
            text = status_text(status, width=width, color=color, verbose=verbose)
            return Response(text.encode(errors="replace"), media_type="text/plain; charset=utf-8")
        return _answer(200, status_document(status))

    async def plan(self) -> Response:
        """What is left to do."""
        return _answer(200, plan_document(self._shown().plan))

    async def instance(self, name: str) -> Response:
        """One instance."""
        found = next((instance for instance in self._shown().instances if instance.name == name), None)
        if found is None:
            raise HTTPException(404, f"there is no instance {name[:60]}")
        return _answer(200, instance_document(found))

    async def events(
        self,
        after: Annotated[int, Query(ge=-1, le=2**62)] = -1,
        limit: Annotated[int, Query(ge=1, le=EVENTS_AT_MOST)] = 100,
    ) -> Response:
        """Journal lines after a sequence number; -1 means the last ones."""
        found = await in_daemon_thread(lambda: self.events_after(after, limit))
        return _answer(200, {"events": [event_document(event) for event in found]})

    def _shown(self) -> Status:
        status = self.board.status
        if status is None:
            raise HTTPException(503, "no pass has ended yet; ask again in a moment")
        return status


def public_app(pages: Pages) -> FastAPI:
    """What the TCP address serves: reading only."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_exception_handler(RoutingError, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_bad_query)
    app.add_exception_handler(StewardError, _on_fault)
    app.add_exception_handler(Exception, _on_mistake)
    routes: dict[str, Callable[..., Any]] = {
        "/healthz": pages.healthz,
        "/readyz": pages.readyz,
        "/metrics": pages.exposition,
        "/api/v1/status": pages.status,
        "/api/v1/plan": pages.plan,
        "/api/v1/events": pages.events,
        "/api/v1/instances/{name}": pages.instance,
    }
    for path, page in routes.items():
        app.add_api_route(path, page, methods=["GET"], response_model=None)
    return app


def private_app(pages: Pages, commands: Commands, read_log: ReadLog) -> FastAPI:
    """What the unix socket serves: the same, commands, and the logs of the engines, which may hold what people wrote."""
    app = public_app(pages)

    async def command(request: Request) -> Response:
        asked = command_from(await _body(request))
        return _answer(200, reply_document(await in_daemon_thread(lambda: commands.submit(asked))))

    async def logs(name: str, lines: Annotated[int, Query(ge=1, le=LINES_AT_MOST)] = 100, previous: bool = False) -> Response:
        found = await in_daemon_thread(lambda: read_log(name, lines, previous))
        return _answer(200, {"container": found.container, "name": found.name, "lines": list(found.lines)})

    app.add_api_route("/command", command, methods=["POST"], response_model=None)
    app.add_api_route("/logs/{name}", logs, methods=["GET"], response_model=None)
    return app


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > COMMAND_BYTES:
            raise HTTPException(413, f"a command has at most {COMMAND_BYTES} bytes")
    return body


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RoutingError)
    path = request.url.path[:100]
    plain = {404: f"there is no page {path}", 405: f"{path} does not take {request.method[:20]}"}
    sentence = error.detail if isinstance(error, HTTPException) else plain.get(error.status_code, error.detail)
    return _answer(error.status_code, {"error": sentence}, error.headers)


async def _on_bad_query(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return _answer(422, {"error": f"{first['loc'][-1]}: {first['msg']}"})


async def _on_fault(_request: Request, error: Exception) -> Response:
    code = 422 if isinstance(error, UsageError) else 404 if isinstance(error, NotFound) else 503
    return _answer(code, {"error": str(error)})


async def _on_mistake(_request: Request, _error: Exception) -> Response:
    """The server logs the error itself after this answer."""
    return _answer(500, {"error": "internal error, please report it; the log has its line"})


def _answer(code: int, document: Any, headers: Any = None) -> Response:
    return Response(json_bytes(document), code, headers, "application/json")
