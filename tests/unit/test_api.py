"""The HTTP API over real sockets: what each page says, how it refuses, and how the server begins and ends."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from controller.errors import EnvironmentFault, LockHeld, NotFound, PortTaken, StewardError, StoreDamaged, UsageError
from controller.model.events import Command, Verb
from observability.board import Board
from observability.health import STALE_AFTER_S, health
from observability.listening import listen_tcp, listen_unix
from observability.metrics import Metrics
from observability.server import Server
from observability.text import status_text
from observability.wire import command_bytes, command_from
from tests.unit.serving import Ear, Journal, Logs, Served, served
from tests.unit.shown import NOW, STATUS


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    """A server that nobody has told anything yet."""
    with served(tmp_path / "steward.sock") as site:
        yield site


@pytest.fixture
def shown(site: Served) -> Served:
    """A server after its first pass."""
    return after_a_pass(site)


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server after its first pass, shared by the tests that only read from it."""
    with served(tmp_path_factory.mktemp("reading") / "steward.sock") as site:
        yield after_a_pass(site)


def after_a_pass(site: Served) -> Served:
    """Tell the server of one pass."""
    for recorder in (site.board, site.metrics):
        recorder.passed("start", "done", 0.01, NOW)
        recorder.show(STATUS)
    return site


def ask(site: Served, path: str, method: str = "GET", body: bytes | None = None) -> tuple[int, str, bytes]:
    """Code, content type and body over TCP."""
    host, _, port = site.server.address.rpartition(":")
    connection = HTTPConnection(host, int(port), timeout=10)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.headers.get("Content-Type", ""), response.read()
    finally:
        connection.close()


def document(site: Served, path: str, method: str = "GET") -> tuple[int, Any]:
    """Code and JSON over TCP."""
    code, content_type, body = ask(site, path, method)
    assert content_type == "application/json"
    return code, json.loads(body)


def test_before_the_first_pass(site: Served) -> None:
    """Given a process without a pass, when it is asked, then it is alive, not ready, and has no status yet."""
    assert document(site, "/healthz")[0] == 200
    assert document(site, "/readyz") == (503, {"ready": False, "config_accepted": "Unknown", "converged": False})
    assert document(site, "/api/v1/status") == (503, {"error": "no pass has ended yet; ask again in a moment"})
    assert ask(site, "/metrics")[0] == 200


def test_after_the_first_pass(reading: Served) -> None:
    """Given a pass, when it is asked, then it is ready, and a refused revision is told without making it unready."""
    assert document(reading, "/readyz") == (200, {"ready": True, "config_accepted": "False", "converged": False})
    code, alive = document(reading, "/healthz")
    assert (code, alive["alive"]) == (200, True)


def test_a_loop_that_hangs_is_not_healthy() -> None:
    """Given a last pass that is too long ago, when health is asked, then the answer is 503 with the age."""
    assert health(STALE_AFTER_S + 1) == (503, {"alive": False, "last_pass_age_s": STALE_AFTER_S + 1})
    assert health(STALE_AFTER_S)[0] == 200


def test_a_failed_pass_shows_that_the_loop_lives() -> None:
    """Given a board, when a pass fails, then its age begins anew: an engine that is away must not restart Steward."""
    board = Board()
    before = board.pass_age()
    while board.pass_age() <= before:
        pass
    board.passed("relist", "failed", 10.0, NOW)
    assert board.pass_age() < 1.0


def test_status_and_plan_are_the_boards(reading: Served) -> None:
    """Given a status on the board, when it is asked for, then it comes as a document, and so does its plan."""
    code, status = document(reading, "/api/v1/status")
    assert (code, status["rig"], [i["name"] for i in status["instances"]]) == (200, "home", ["chat", "code", "paint", "embed"])
    code, plan = document(reading, "/api/v1/plan")
    assert (code, [step["action"] for step in plan["steps"]]) == (200, ["create", "drain", "stop", "start", "pull"])


def test_status_comes_as_text_too(reading: Served) -> None:
    """Given a terminal, when it asks for text, then it gets what `steward status` prints at that width."""
    code, content_type, body = ask(reading, "/api/v1/status?format=text&width=60&color=1&verbose=1")
    assert (code, content_type) == (200, "text/plain; charset=utf-8")
    assert body.decode() == status_text(STATUS, width=60, color=True, verbose=True)


def test_one_instance(reading: Served) -> None:
    """Given a name, when its page is asked for, then it is that instance, and an unknown name is a 404 that says so."""
    code, instance = document(reading, "/api/v1/instances/chat")
    assert (code, instance["name"], instance["tps"]) == (200, "chat", 41.23)
    assert document(reading, "/api/v1/instances/chta") == (404, {"error": "there is no instance chta"})


def test_events_are_paged(reading: Served) -> None:
    """Given a journal, when it is asked for, then the last lines come, or those after a number, never more than asked."""
    code, last = document(reading, "/api/v1/events")
    assert (code, len(last["events"]), last["events"][-1]["sequence"]) == (200, 100, 300)
    _, some = document(reading, "/api/v1/events?after=7&limit=2")
    assert [event["sequence"] for event in some["events"]] == [8, 9]
    assert document(reading, "/api/v1/events?after=300") == (200, {"events": []})


def test_metrics_in_the_format_that_is_asked_for(reading: Served) -> None:
    """Given a scrape, when it comes, then the page holds the rig's figures with the right content type."""
    code, content_type, body = ask(reading, "/metrics")
    assert (code, content_type.split(";")[0]) == (200, "text/plain")
    assert b'steward_instance_ready{instance="chat",rig="home"} 1.0' in body


@pytest.mark.parametrize(
    ("method", "path", "code", "error"),
    [
        ("GET", "/nothing", 404, "there is no page /nothing"),
        ("GET", "/docs", 404, "there is no page /docs"),
        ("GET", "/openapi.json", 404, "there is no page /openapi.json"),
        ("POST", "/api/v1/status", 405, "/api/v1/status does not take POST"),
        ("DELETE", "/metrics", 405, "/metrics does not take DELETE"),
        ("POST", "/command", 404, "there is no page /command"),
        ("GET", "/logs/chat", 404, "there is no page /logs/chat"),
        ("GET", "/api/v1/events?limit=0", 422, "limit: Input should be greater than or equal to 1"),
        ("GET", "/api/v1/events?limit=100000", 422, "limit: Input should be less than or equal to 1000"),
        ("GET", "/api/v1/events?after=x", 422, "after: Input should be a valid integer, unable to parse string as an integer"),
        ("GET", "/api/v1/status?format=xml", 422, "format: Input should be 'json' or 'text'"),
        ("GET", "/api/v1/status?width=5", 422, "width: Input should be greater than or equal to 20"),
    ],
)
def test_errors_are_short_json(reading: Served, method: str, path: str, code: int, error: str) -> None:
    """Given a request that cannot be served, when it comes over TCP, then the answer is one JSON sentence; no commands here."""
    assert document(reading, path, method) == (code, {"error": error})


def test_a_store_that_cannot_be_read_is_a_sentence(capfd: pytest.CaptureFixture[str], shown: Served) -> None:
    """Given a damaged store, when events are asked for, then the answer names it and no traceback is printed."""
    shown.journal.fault = StoreDamaged("the journal cannot be read")
    assert document(shown, "/api/v1/events") == (503, {"error": "the journal cannot be read"})
    assert "Traceback" not in capfd.readouterr().err


def test_a_mistake_of_ours_is_one_line_of_the_log(capfd: pytest.CaptureFixture[str], shown: Served) -> None:
    """Given an error that nobody foresaw, when a page meets it, then the answer is 500, and the log has one JSON line of it."""
    shown.journal.fault = ZeroDivisionError("oops")
    assert document(shown, "/api/v1/events") == (500, {"error": "internal error, please report it; the log has its line"})
    assert document(shown, "/healthz")[0] == 200
    shown.server.stop()
    lines = capfd.readouterr().err.splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["Exception in ASGI application (ZeroDivisionError: oops)"]


def test_commands_reach_the_loop_through_the_socket(shown: Served) -> None:
    """Given a command, when it comes through the socket, then the loop gets it as it was and its reply comes back."""
    command = Command(Verb.STOP, ("chat", "code"), None, 3600.0, "gaming", "ann")
    reply = shown.client.command(command)
    assert shown.ear.taken == [command]
    assert (reply.ok, reply.message, reply.data) == (True, "done", {"names": ["chat"]})


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "a command is a JSON object"),
        (b"[1]", "a command is a JSON object"),
        (b"[" * 5000, "a command is a JSON object"),
        (b'{"verb": "explode"}', "verb: expected one of sync, stop, start, down"),
        (b'{"verb": ["stop"]}', "verb: expected one of sync, stop, start, down"),
        (b'{"verb": "stop", "instances": "chat"}', "instances: expected a list of names"),
        (b'{"verb": "stop", "instances": [1]}', "instances: expected a list of names"),
        (b'{"verb": "stop", "gpu": 0}', "gpu: expected text"),
        (b'{"verb": "stop", "for_s": -1}', "for_s: expected seconds above 0"),
        (b'{"verb": "stop", "for_s": NaN}', "for_s: expected seconds above 0"),
        (b'{"verb": "stop", "for_s": true}', "for_s: expected seconds above 0"),
        (b'{"verb": "stop", "who": null}', "who: expected text"),
        (b'{"verb": "stop", "force": true}', "a command has no key force"),
    ],
)
def test_a_command_that_is_none_is_refused(body: bytes, error: str) -> None:
    """Given a body that is no command, when it is read, then what is wrong with it is named."""
    with pytest.raises(UsageError) as caught:
        command_from(body)
    assert str(caught.value) == error


@pytest.mark.parametrize("verb", list(Verb))
def test_a_command_survives_the_wire(verb: Verb) -> None:
    """Given any verb, when its command is written and read, then it is the same."""
    for command in (Command(verb), Command(verb, ("a",), "GPU-1", 1.5, "größer", "ann")):
        assert command_from(command_bytes(command)) == command


def test_logs_are_read_through_the_socket(shown: Served) -> None:
    """Given an instance, when its log is asked for through the socket, then its container and last lines come back."""
    document = shown.client.get("/logs/chat?lines=2")
    assert document == {"container": "c1", "name": "chat-01234567-1", "lines": ["line 299", "line 300"]}
    assert shown.logs.asked == [("chat", 2, False)]


@pytest.mark.parametrize(
    ("path", "kind", "sentence"),
    [
        ("/logs/chta", UsageError, "there is no instance chta"),
        ("/logs/chat?previous=1", NotFound, "chat has no earlier container"),
        ("/logs/chat?lines=0", UsageError, "lines"),
        ("/logs/chat?lines=10001", UsageError, "lines"),
    ],
)
def test_a_log_that_cannot_be_had_is_explained(shown: Served, path: str, kind: type[Exception], sentence: str) -> None:
    """Given a name, a container or a number that does not exist, when its log is asked for, then a sentence says so."""
    with pytest.raises(kind, match=sentence):
        shown.client.get(path)


def test_reading_goes_on_while_a_command_waits(shown: Served) -> None:
    """Given commands that the loop does not answer yet, when pages are read meanwhile, then they answer at once."""
    shown.ear.gate = threading.Event()
    callers = [threading.Thread(target=shown.client.command, args=(Command(Verb.SYNC),)) for _ in range(8)]
    for caller in callers:
        caller.start()
    deadline = time.monotonic() + 10
    while len(shown.ear.taken) < 8 and time.monotonic() < deadline:
        assert document(shown, "/api/v1/status")[0] == 200
    shown.ear.gate.set()
    for caller in callers:
        caller.join(10)
    assert len(shown.ear.taken) == 8


def test_a_body_has_a_bound(shown: Served) -> None:
    """Given a body of a megabyte, when it is posted to the socket, then it is refused and the server goes on."""
    with pytest.raises(StewardError):
        shown.client.command(Command(Verb.STOP, reason="x" * 1_000_000))
    assert shown.ear.taken == []
    assert shown.client.alive()


def test_the_socket_is_private(site: Served) -> None:
    """Given a server, when its socket file is looked at, then only the owner may use it."""
    assert stat.S_IMODE(site.client.path.stat().st_mode) == 0o600


def test_stop_is_bounded_and_leaves_nothing(tmp_path: Path) -> None:
    """Given a command that nobody answers and an open connection, when the server stops, then it ends in time, file and all."""
    path = tmp_path / "steward.sock"
    with served(path) as site, socket.create_connection(_target(site.server), 5) as idle:
        site.ear.gate = threading.Event()
        caller = threading.Thread(target=_swallow, args=(site,), daemon=True)
        caller.start()
        deadline = time.monotonic() + 10
        while not site.ear.taken and time.monotonic() < deadline:
            pass
        began = time.monotonic()
        site.server.stop()
        assert time.monotonic() - began < 6
        site.server.stop()
        assert not path.exists()
        idle.settimeout(5)
        assert idle.recv(1) == b""
        site.ear.gate.set()
        caller.join(10)


def _swallow(site: Served) -> None:
    try:
        site.client.command(Command(Verb.SYNC))
    except StewardError:
        return


def _target(server: Server) -> tuple[str, int]:
    host, _, port = server.address.rpartition(":")
    return host, int(port)


def test_an_address_in_use_is_named(tmp_path: Path) -> None:
    """Given a port that somebody holds, when the server starts, then the error names the address and no socket file is left."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        server = Server(listen, tmp_path / "steward.sock", Board(), Ear(), Metrics(), Journal().read, Logs().read)
        with pytest.raises(PortTaken) as caught:
            server.start()
    assert listen in str(caught.value)
    assert not (tmp_path / "steward.sock").exists()


@pytest.mark.parametrize("listen", ["", "9473", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "no.such.host.invalid:80"])
def test_an_address_that_is_none_is_a_usage_error(listen: str) -> None:
    """Given text that is no address, when it is listened on, then the error names it."""
    with pytest.raises(UsageError) as caught:
        listen_tcp(listen)
    assert f"--listen {listen}: " in str(caught.value)


def test_an_address_of_another_machine_cannot_be_had() -> None:
    """Given an address that this machine does not have, when it is listened on, then it is the surroundings' fault."""
    with pytest.raises(EnvironmentFault, match=r"cannot listen on 192\.0\.2\.1:80"):
        listen_tcp("192.0.2.1:80")


def test_the_socket_of_a_dead_process_is_replaced(tmp_path: Path) -> None:
    """Given a socket file whose process was killed, when the server starts, then it takes its place."""
    path = tmp_path / "steward.sock"
    script = (
        "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=20)
    assert path.is_socket()
    with served(path) as site:
        assert site.client.alive()


def test_the_socket_of_a_live_process_stays(site: Served) -> None:
    """Given a server that runs, when a second one wants its socket, then it is refused and the first goes on."""
    with pytest.raises(LockHeld) as caught:
        listen_unix(site.client.path)
    assert str(site.client.path) in str(caught.value)
    assert site.client.alive()


def test_a_file_in_the_way_is_not_removed(tmp_path: Path) -> None:
    """Given a file of the socket's name that is no socket, when the server starts, then it stays and the error names it."""
    path = tmp_path / "steward.sock"
    path.write_text("mine")
    with pytest.raises(StewardError, match="is in the way"):
        listen_unix(path)
    assert path.read_text() == "mine"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """Given a folder that is not there, when the socket is made, then the error names the path."""
    with pytest.raises(EnvironmentFault, match=r"cannot make the command socket .*nowhere"):
        listen_unix(tmp_path / "nowhere" / "steward.sock")


def test_a_socket_that_another_process_put_there_is_left(tmp_path: Path) -> None:
    """Given a socket file that was replaced meanwhile, when the server stops, then the other one's file stays."""
    path = tmp_path / "steward.sock"
    with served(path) as site:
        path.rename(tmp_path / "mine.sock")
        with listen_unix(path):
            site.server.stop()
            assert path.is_socket()


def open_files() -> int:
    """How many file descriptors this process has."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_deep_state_folder_works(tmp_path: Path) -> None:
    """Given a state folder deeper than a socket address can be, when the server starts, then both ends find each other."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    before = open_files()
    with served(deep / "steward.sock") as site:
        assert site.client.alive()
    assert not (deep / "steward.sock").exists()
    assert open_files() <= before


def test_ipv6_addresses_are_written_with_brackets(tmp_path: Path) -> None:
    """Given an IPv6 loopback address, when the server listens on it, then its address can be put into a URL."""
    server = Server("[::1]:0", tmp_path / "steward.sock", Board(), Ear(), Metrics(), Journal().read, Logs().read)
    try:
        server.start()
    except EnvironmentFault:
        pytest.skip("this machine has no IPv6 loopback")
    try:
        assert server.address.startswith("[::1]:")
        assert not server.address.endswith(":0")
    finally:
        server.stop()
