"""A real registry on loopback with a scripted door in front: what goes wrong between an engine and a registry, on demand."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import socket
import subprocess
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

_FIND: Final = Path(__file__).with_name("registry.sh")
_FIND_S: Final = 240.0
MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG: Final = "application/vnd.docker.container.image.v1+json"
_LAYER: Final = "application/vnd.docker.image.rootfs.diff.tar.gzip"
_START_S: Final = 10.0
_YAML: Final = """\
version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %s}}
http: {addr: 127.0.0.1:%d}
"""


def registry_program() -> tuple[str, str]:
    """The path of the registry program, or an empty one and why it is not to be had."""
    found = subprocess.run(["bash", str(_FIND)], capture_output=True, text=True, timeout=_FIND_S, check=False)
    path = found.stdout.strip()
    return (path, "") if found.returncode == 0 and path else ("", found.stderr.strip()[-300:] or "no docker-registry")


@dataclass(frozen=True, slots=True)
class Fault:
    """What the door does with requests whose path contains `part`, instead of passing them on.

    `status` answers at once; `hold_s` waits before each piece of a body; `cut_after` ends the connection after so many bytes.
    """

    part: str
    status: int = 0
    code: str = ""
    hold_s: float = 0.0
    cut_after: int | None = None


@dataclass(slots=True)
class Door:
    """The scripted proxy; `faults` may change between requests, `seen` lists the paths that were asked for."""

    port: int
    faults: list[Fault] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)

    def reference(self, name: str, tag: str = "1") -> str:
        """An image reference that goes through the door."""
        return f"127.0.0.1:{self.port}/{name}:{tag}"

    def fault_for(self, path: str) -> Fault | None:
        """The first fault that applies."""
        return next((fault for fault in self.faults if fault.part in path), None)


@dataclass(frozen=True, slots=True)
class Registry:
    """The registry behind the door."""

    port: int
    door: Door

    def publish(self, name: str, *, tag: str = "1", architecture: str = "amd64", content: bytes = b"hello") -> None:
        """Put an image of one layer with one file into the registry."""
        layer = _layer(content)
        config = json.dumps(
            {
                "architecture": architecture,
                "os": "linux",
                "config": {"Cmd": ["/file"]},
                "rootfs": {"type": "layers", "diff_ids": [_digest(gzip.decompress(layer))]},
            }
        ).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": _CONFIG, "size": len(config), "digest": self._blob(name, config)},
            "layers": [{"mediaType": _LAYER, "size": len(layer), "digest": self._blob(name, layer)}],
        }
        self._send("PUT", f"/v2/{name}/manifests/{tag}", json.dumps(manifest).encode(), MANIFEST)

    def _blob(self, name: str, data: bytes) -> str:
        digest = _digest(data)
        location = self._send("POST", f"/v2/{name}/blobs/uploads/", b"")
        joint = "&" if "?" in location else "?"
        self._send("PUT", f"{location}{joint}digest={digest}", data, "application/octet-stream")
        return digest

    def _send(self, method: str, path: str, data: bytes, kind: str = "") -> str:
        url = path if path.startswith("http:") else f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": kind} if kind else {})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(answer.headers.get("Location", ""))


@contextmanager
def running_registry(program: str, folder: Path) -> Iterator[Registry]:
    """A registry with its files in `folder` and its door; both end with the block."""
    port = _free_port()
    config = folder / "registry.yml"
    config.write_text(_YAML % (folder / "data", port))
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen([program, "serve", str(config)], stdout=log, stderr=log)
        try:
            _wait_for(port, process)
            with _door_to(port) as door:
                yield Registry(port, door)
        finally:
            process.terminate()
            process.wait(timeout=10)


@contextmanager
def _door_to(port: int) -> Iterator[Door]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.block_on_close = False
    door = Door(server.server_address[1])
    server.door, server.behind = door, port  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield door
    finally:
        door.open.set()  # nobody holds a body any longer
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    """Passes GET and HEAD on, unless a fault applies."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests read `seen`."""

    def _answer(self, *, with_body: bool) -> None:
        door: Door = self.server.door  # type: ignore[attr-defined]
        door.seen.append(self.path)
        fault = door.fault_for(self.path)
        if fault is not None and fault.status:
            self._refuse(fault, with_body=with_body)
            return
        status, headers, body = self._behind()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self._write(body, fault, door)

    def _refuse(self, fault: Fault, *, with_body: bool) -> None:
        body = json.dumps({"errors": [{"code": fault.code, "message": fault.code.lower()}]}).encode()
        self.send_response(fault.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if fault.status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _behind(self) -> tuple[int, dict[str, str], bytes]:
        url = f"http://127.0.0.1:{self.server.behind}{self.path}"  # type: ignore[attr-defined]
        asked = {name: ", ".join(self.headers.get_all(name) or ()) for name in ("Accept", "Range")}
        headers = {name: value for name, value in asked.items() if value}
        request = urllib.request.Request(url, headers=headers, method=self.command)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, _passed(answer.headers.items()), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _passed(error.headers.items()), error.read()

    def _write(self, body: bytes, fault: Fault | None, door: Door) -> None:
        step = 65536
        for begin in range(0, len(body), step):
            if fault and fault.cut_after is not None and begin >= fault.cut_after:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if fault and fault.hold_s and begin:
                door.open.wait(fault.hold_s)
            try:
                self.wfile.write(body[begin : begin + step])
            except OSError:
                self.close_connection = True
                return


def _passed(headers: list[tuple[str, str]]) -> dict[str, str]:
    wanted = ("content-type", "content-length", "content-range", "docker-content-digest", "docker-distribution-api-version")
    return {name: value for name, value in headers if name.lower() in wanted}


def _layer(content: bytes) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        info = tarfile.TarInfo("file")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), compresslevel=0, mtime=0)


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the registry ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"the registry does not listen on {port}")
