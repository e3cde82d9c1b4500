"""The client of the socket: what it says when nobody, the wrong one, or a slow one answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller.errors import EnvironmentFault, NotFound, StewardError, UsageError
from controller.model.events import Command, Reply, Verb
from observability.client import SocketClient
from observability.text import status_text
from tests.unit.serving import Served, served
from tests.unit.shown import NOW, STATUS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server after its first pass, shared by the tests of this file."""
    with served(tmp_path_factory.mktemp("client") / "steward.sock") as site:
        site.board.passed("start", "done", 0.01, NOW)
        site.board.show(STATUS)
        yield site


@contextmanager
def stranger(path: Path, answer: bytes) -> Iterator[SocketClient]:
    """Some other program on the socket, which answers everything with the same bytes and hangs up."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(10)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield SocketClient(path)
        thread.join(10)


def test_documents_text_and_commands(site: Served) -> None:
    """Given a controller, when it is asked, then documents, text and replies come as they are."""
    assert site.client.alive()
    assert site.client.get("/api/v1/status")["rig"] == "home"
    assert [e["sequence"] for e in site.client.get("/api/v1/events?after=-1&limit=2")["events"]] == [299, 300]
    text = site.client.text("/api/v1/status", width=100, color=False, verbose=True)
    assert text == status_text(STATUS, width=100, color=False, verbose=True)
    site.ear.reply = Reply(False, "there is no instance chta; did you mean chat?")
    assert site.client.command(Command(Verb.START, ("chta",))) == site.ear.reply


@pytest.mark.parametrize(("width", "used"), [(3, 20), (100_000, 1000)])
def test_any_width_is_taken(site: Served, width: int, used: int) -> None:
    """Given a terminal narrower or wider than the API allows, when text is asked for, then the nearest width is used."""
    text = site.client.text("/api/v1/status", width=width, color=False, verbose=False)
    assert text == status_text(STATUS, width=used, color=False, verbose=False)


def test_refusals_are_the_apis_sentences(site: Served) -> None:
    """Given a question that the API refuses, when it is asked, then the error carries its sentence and the fitting kind."""
    with pytest.raises(NotFound, match="there is no instance nobody"):
        site.client.get("/api/v1/instances/nobody")
    with pytest.raises(UsageError, match="limit: "):
        site.client.get("/api/v1/events?limit=0")
    with pytest.raises(UsageError, match="for_s: expected seconds above 0"):
        site.client.command(Command(Verb.STOP, for_s=-1.0))


def test_before_the_first_pass_it_is_alive_and_has_no_status(tmp_path: Path) -> None:
    """Given a controller without a pass, when it is asked, then it is alive and says that there is no status yet."""
    with served(tmp_path / "steward.sock") as site:
        assert site.client.alive()
        with pytest.raises(EnvironmentFault, match="no pass has ended yet"):
            site.client.get("/api/v1/status")


def test_nobody_there(tmp_path: Path) -> None:
    """Given no socket, a dead one, or no folder, when it is asked, then nobody is alive and the error names the path."""
    dead = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(dead))
    (tmp_path / "file").write_text("")
    for path in (dead, tmp_path / "none.sock", tmp_path / "no" / "s.sock", tmp_path / "file" / "s.sock"):
        client = SocketClient(path)
        assert not client.alive()
        with pytest.raises(EnvironmentFault) as caught:
            client.get("/api/v1/status")
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "broke off"),
        (b"SSH-2.0-OpenSSH\r\n", "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "not JSON"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "not a JSON object"),
        (b"HTTP/1.1 502 Bad\r\nContent-Length: 2\r\n\r\nno", "answered with 502"),
    ],
)
def test_another_program_on_the_socket(tmp_path: Path, answer: bytes, sentence: str) -> None:
    """Given a program that is no Steward, when it is asked, then the error is one clear sentence."""
    with stranger(tmp_path / "s.sock", answer) as client, pytest.raises(StewardError, match=sentence):
        client.get("/api/v1/status")


def test_a_controller_that_does_not_answer(tmp_path: Path) -> None:
    """Given a socket that accepts and stays silent, when it is asked, then the wait is bounded and the error says so."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.sock"))
        listener.listen()
        with pytest.raises(EnvironmentFault, match="did not answer within 3 s"):
            SocketClient(tmp_path / "s.sock").alive()
