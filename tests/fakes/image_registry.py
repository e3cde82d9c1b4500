"""A registry on loopback that says what it is told to, with the token that large registries ask for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs, urlsplit

TOKEN: Final = "anonymous-token"


@dataclass(slots=True)
class Registry:
    """`images` are the `repository:version` that it has; `answers` are statuses given instead, by repository.

    With `realm` it wants a token: `here` is its own, which gives one, or another address. `heard` are the requests, in order.
    """

    port: int = 0
    images: set[str] = field(default_factory=set)
    answers: dict[str, int] = field(default_factory=dict)
    realm: str = ""
    token: str = json.dumps({"token": TOKEN})
    heard: list[str] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)

    def reference(self, name: str, version: str = "1") -> str:
        """An image of this registry."""
        joint = "@" if version.startswith("sha256:") else ":"
        return f"127.0.0.1:{self.port}/{name}{joint}{version}"


@contextmanager
def registry() -> Iterator[Registry]:
    """One that runs until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.block_on_close = False
    found = Registry(int(server.server_address[1]))
    server.registry = found  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.held.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        """A manifest."""
        registry: Registry = self.server.registry  # type: ignore[attr-defined]
        registry.heard.append(f"HEAD {self.path}")
        repository, _, version = self.path.removeprefix("/v2/").partition("/manifests/")
        if repository == "slow":
            registry.held.wait(20)
        status = registry.answers.get(repository, 200 if f"{repository}:{version}" in registry.images else 404)
        if registry.realm and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            where = f"http://127.0.0.1:{registry.port}/token" if registry.realm == "here" else registry.realm
            challenge = f'Bearer realm="{where}",service="test",scope="repository:{repository}:pull"'
            self._answer(401, {"WWW-Authenticate": challenge})
        else:
            self._answer(status, {"Retry-After": "60"} if status == 429 else {})

    def do_GET(self) -> None:
        """A token, for the scope that was asked for."""
        registry: Registry = self.server.registry  # type: ignore[attr-defined]
        registry.heard.append(f"GET {self.path}")
        asked = parse_qs(urlsplit(self.path).query)
        good = asked.get("service") == ["test"] and asked.get("scope", [""])[0].endswith(":pull")
        self._answer(200 if good else 400, {}, registry.token.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests read `heard`."""

    def _answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        with suppress(OSError):  # who has asked may not wait any longer
            self.end_headers()
            self.wfile.write(body)
