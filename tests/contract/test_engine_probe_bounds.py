"""The HTTP probe against servers that hang, drip, lie and break off, its metrics, generic tenants, and where it asks."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

import pytest

from controller.adapters.http.fetch import address
from controller.adapters.http_probe import HttpProbe
from controller.dialects.registry import DIALECTS
from controller.model.observed import EngineMetrics, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known, Unknown
from controller.model.resolved import Readiness, Serving
from controller.ports import ProbeTarget
from controller.settings import Bounds
from tests.contract.http_servers import Told, breaking, free_port, hang_up, say_nothing, telling
from tests.contract.probing import HEALTHY, METRICS, NOW, VLLM, asked, target

# -- a whole request has one deadline, and a body a bound


def drip_head(connection: socket.socket, over: threading.Event) -> None:
    """A head that never ends, one byte at a time."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not over.wait(0.02):
        connection.sendall(b"x")


def drip_body(connection: socket.socket, over: threading.Event) -> None:
    """A body that never ends, one byte at a time."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not over.wait(0.02):
        connection.sendall(b"x")


@pytest.mark.parametrize("behave", [drip_head, drip_body, say_nothing])
def test_slow_answer_is_silent_within_the_timeout(
    probe: HttpProbe, behave: Callable[[socket.socket, threading.Event], None]
) -> None:
    """However the server stretches its answer, the lane is free again after the timeout."""
    with breaking(behave) as port:
        began = time.monotonic()
        found = probe.probe(target(port, timeout_s=0.4), NOW)
        lasted = time.monotonic() - began
    assert found.phase is ServePhase.SILENT
    assert "within 0.4 s" in found.detail
    assert 0.3 < lasted < 3.0


def test_address_that_leads_nowhere_is_bounded(probe: HttpProbe) -> None:
    """A full backlog makes connecting itself hang; that is bounded too."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = int(listener.getsockname()[1])
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        began = time.monotonic()
        found = probe.probe(target(port, timeout_s=0.4), NOW)
        for filler in fillers:
            filler.close()
    assert found.phase is ServePhase.SILENT
    assert time.monotonic() - began < 3.0


def test_large_body_is_not_read_to_its_end(probe: HttpProbe) -> None:
    """A body beyond the bound ends the question, not the memory."""
    found = asked(probe, {str(VLLM.models): Told(body="x" * 100_000)})
    assert found.phase is ServePhase.FAILING
    assert "more than 20000 bytes" in found.detail
    found = asked(probe, {str(VLLM.metrics): Told(body="x 1\n" * 100_000)})
    assert found.phase is ServePhase.SERVING
    assert isinstance(found.metrics, Unknown)


@pytest.mark.parametrize(
    "noise", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 20x OK\r\n\r\n", b"\0" * 100, b"HTTP/1.1 200 OK\r\nContent-Le"]
)
def test_what_is_no_http_is_failing(probe: HttpProbe, noise: bytes) -> None:
    """Another program on the port is named as such."""

    def behave(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(noise)

    with breaking(behave) as port:
        found = probe.probe(target(port), NOW)
    assert found.phase is ServePhase.FAILING
    assert "gives no HTTP answer" in found.detail


def test_proxies_of_the_environment_are_ignored(probe: HttpProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine of this machine is never asked through a company's proxy."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    fresh = HttpProbe(Bounds())
    with telling(HEALTHY) as server:
        found = fresh.probe(target(server.port), NOW)
    fresh.close()
    assert found.phase is ServePhase.SERVING


def test_many_threads_share_one_probe(probe: HttpProbe) -> None:
    """Every lane asks through the same client, each with a deadline of its own."""
    results: dict[int, Probe] = {}
    with telling(HEALTHY) as server, breaking(say_nothing) as silent:

        def ask(number: int) -> None:
            port = silent if number % 4 == 0 else server.port
            results[number] = probe.probe(target(port, timeout_s=1.0 if port == silent else 10.0), NOW)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    phases = {number: probe.phase for number, probe in results.items()}
    assert phases == {n: ServePhase.SILENT if n % 4 == 0 else ServePhase.SERVING for n in range(16)}


# -- the metrics


def test_metrics_switched_off_are_unknown_with_the_reason(probe: HttpProbe) -> None:
    """llama.cpp without `--metrics` answers 501 and says what to do."""
    told = Told(501, {"error": {"code": 501, "message": "This server does not support metrics endpoint."}})
    found = asked(probe, {str(VLLM.metrics): told})
    assert found.phase is ServePhase.SERVING
    assert isinstance(found.metrics, Unknown)
    assert "501: This server does not support metrics" in found.metrics.reason


@pytest.mark.parametrize(("header", "start"), [("1700000000.5", 1_700_000_000.5), ("soon", None), ("nan", None), ("", None)])
def test_start_of_the_process_from_the_header(probe: HttpProbe, header: str, start: float | None) -> None:
    """llama.cpp tells when it started in a header of its metrics, a free detector of restarts."""
    told = Told(body=METRICS, headers={"Process-Start-Time-Unix": header})
    found = asked(probe, {str(VLLM.metrics): told})
    assert found.metrics == Known(EngineMetrics(running=2.0, process_start=start))


@pytest.mark.parametrize("body", [b"\xff\xfe", b"<html>no metrics here</html>", b"", b"{"])
def test_metrics_that_are_none_do_not_break_the_probe(probe: HttpProbe, body: bytes) -> None:
    """Unknown or without any figure, but an answer all the same."""
    found = asked(probe, {str(VLLM.metrics): Told(body=body)})
    assert found.phase is ServePhase.SERVING
    assert isinstance(found.metrics, Unknown) or found.metrics == Known(EngineMetrics())


# -- generic tenants


def tenant(port: int, kind: str, path: str = "") -> ProbeTarget:
    """Another user of a card."""
    return ProbeTarget("c1", Serving(DialectName.GENERIC, port, readiness=Readiness(kind, path)), 2.0, 2.0, True)


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        (200, ServePhase.SERVING),
        (204, ServePhase.SERVING),
        (302, ServePhase.SERVING),
        (404, ServePhase.FAILING),
        (500, ServePhase.FAILING),
        (503, ServePhase.LOADING),
    ],
)
def test_tenant_is_ready_by_its_page(probe: HttpProbe, status: int, phase: ServePhase) -> None:
    """2xx and 3xx are ready; nothing else is asked of it."""
    with telling({"/up?deep=1&x=%C3%BC": Told(status)}) as server:
        found = probe.probe(tenant(server.port, "http", "/up?deep=1&x=ü"), NOW)
    assert found.phase is phase
    assert found.completion is None
    assert found.served is None
    assert [heard.path for heard in server.heard] == ["/up?deep=1&x=%C3%BC"]


def test_tenant_is_ready_by_its_port(probe: HttpProbe) -> None:
    """A connection that stays open, or that is greeted, counts; one that is hung up on does not."""

    def greet(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"220 welcome\r\n")
        over.wait(30)

    with breaking(say_nothing) as quiet, breaking(greet) as greeting, breaking(hang_up) as proxy:
        phases = [probe.probe(tenant(port, "tcp"), NOW).phase for port in (quiet, greeting, proxy, free_port())]
    assert phases == [ServePhase.SERVING, ServePhase.SERVING, ServePhase.REFUSED, ServePhase.REFUSED]


def test_tenant_without_readiness_is_never_asked(probe: HttpProbe) -> None:
    """`none` means that running is enough."""
    assert probe.probe(tenant(free_port(), "none"), NOW).phase is ServePhase.SERVING


# -- where to ask


@pytest.mark.parametrize(
    ("bind", "host"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("192.0.2.7", "192.0.2.7")]
)
def test_probe_goes_to_the_bind_address(bind: str, host: str) -> None:
    """An engine that listens on one LAN address is not on the loopback one."""
    assert address(Serving(DialectName.VLLM, 8010, bind)) == (host, 8010)


def test_ipv6_address_is_written_in_brackets(probe: HttpProbe) -> None:
    """The address of a refused probe shows that it was understood; no server is needed for that."""
    serving = Serving(DialectName.VLLM, free_port(), "::", ("chat",))
    found = probe.probe(ProbeTarget("c1", serving, 1.0, 1.0, True), NOW)
    assert found.phase in (ServePhase.REFUSED, ServePhase.FAILING)
    assert f"::1:{serving.port}" in found.detail


@pytest.mark.parametrize("bind", ["not an address", "x" * 70, "999.1.1.1", "127.0.0.1/"])
@pytest.mark.parametrize("name", [DialectName.VLLM, DialectName.GENERIC])
def test_address_that_is_none_is_failing(probe: HttpProbe, bind: str, name: DialectName) -> None:
    """A bind address that cannot be one is a fault of the file, not an engine that loads."""
    serving = Serving(name, 8010, bind, ("chat",), Readiness("tcp"))
    found = probe.probe(target(8010, serving=serving), NOW)
    assert found.phase is ServePhase.FAILING
    assert found.detail


def test_engine_type_of_a_later_version_is_failing(probe: HttpProbe) -> None:
    """A record that a newer Steward left names a type that this one cannot ask: said, not raised."""
    unspoken = sorted(set(DialectName) - DIALECTS.keys())
    found = [probe.probe(target(free_port(), name), NOW) for name in unspoken]
    assert [probe.phase for probe in found] == [ServePhase.FAILING] * len(unspoken)
