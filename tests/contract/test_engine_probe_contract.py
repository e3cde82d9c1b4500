"""The HTTP probe against servers that answer, refuse, load, hang, drip, lie and break off."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller.adapters.http.checks import SHORT
from controller.adapters.http.fetch import address
from controller.adapters.http_probe import MAX_TOKENS, HttpProbe
from controller.dialects.registry import DIALECTS, dialect
from controller.model.moment import Instant
from controller.model.observed import EngineMetrics, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known, Unknown
from controller.model.resolved import Readiness, Serving
from controller.ports import ProbeTarget
from controller.settings import Bounds
from tests.contract.http_servers import Told, breaking, free_port, telling

NOW = Instant(1_800_000_000.0, 50.0)
ENGINES = sorted(DIALECTS.keys() - {DialectName.GENERIC})
MODELS = {"object": "list", "data": [{"id": "chat", "object": "model"}]}
DONE = {
    "choices": [{"index": 0, "text": " four", "finish_reason": "length"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
}
METRICS = '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="chat"} 2\n'
VLLM = dialect(DialectName.VLLM).endpoints
HEALTHY = {
    str(VLLM.health): Told(),
    str(VLLM.models): Told(body=MODELS),
    str(VLLM.completion): Told(body=DONE),
    str(VLLM.metrics): Told(body=METRICS),
}


@pytest.fixture
def probe() -> Iterator[HttpProbe]:
    """The probe with a small bound for bodies."""
    made = HttpProbe(Bounds(http_body=20_000))
    yield made
    made.close()


def target(port: int, name: DialectName = DialectName.VLLM, **changes: Any) -> ProbeTarget:
    """An engine on the loopback address that should serve `chat`."""
    serving = Serving(name, port, served_names=("chat", "alias"))
    return replace(ProbeTarget("c1", serving, 5.0, 5.0, True), **changes)


def asked(probe: HttpProbe, changes: Mapping[str, Told], **target_changes: Any) -> Probe:
    """A probe of a vLLM that is healthy but for these paths."""
    with telling({**HEALTHY, **changes}) as server:
        return probe.probe(target(server.port, **target_changes), NOW)


@pytest.mark.parametrize("name", ENGINES)
def test_healthy_engine_serves(probe: HttpProbe, name: DialectName) -> None:
    """Health, the served name, a completion and the metrics of every engine type."""
    paths = dialect(name).endpoints
    answers = {
        str(paths.health): Told(),
        str(paths.models): Told(body=MODELS),
        str(paths.completion): Told(body=DONE),
        str(paths.metrics): Told(body="process_start_time_seconds 12.5\n"),
    }
    with telling(answers) as server:
        found = probe.probe(target(server.port, name), NOW)
    assert (found.phase, found.served, found.at, found.detail) == (ServePhase.SERVING, True, NOW, "")
    assert found.completion is not None
    assert (found.completion.ok, found.completion.tokens) == (True, 4)
    assert found.completion.seconds > 0
    assert isinstance(found.metrics, Known)
    assert found.metrics.value.process_start == 12.5
    assert found.decode_tps is None


def test_completion_request_is_small_and_names_the_model(probe: HttpProbe) -> None:
    """One real request: the canonical name, few tokens, temperature 0, no stream."""
    with telling(HEALTHY) as server:
        probe.probe(target(server.port), NOW)
    (request,) = [heard for heard in server.heard if heard.method == "POST"]
    assert request.path == VLLM.completion
    assert request.headers["content-type"] == "application/json"
    document = request.document
    assert (document["model"], document["max_tokens"], document["temperature"]) == ("chat", MAX_TOKENS, 0)
    assert document["prompt"]
    assert not document.get("stream")


def test_completion_only_on_request(probe: HttpProbe) -> None:
    """A ready engine is not made to work for every probe."""
    with telling(HEALTHY) as server:
        found = probe.probe(target(server.port, want_completion=False), NOW)
    assert found.phase is ServePhase.SERVING
    assert found.completion is None
    assert {heard.method for heard in server.heard} == {"GET"}


def test_every_request_carries_the_key(probe: HttpProbe) -> None:
    """Some engines guard their metrics too; without a key there is no such header."""
    with telling(HEALTHY) as server:
        probe.probe(target(server.port, api_key="sk-1"), NOW)
        with_key = [heard.headers.get("authorization") for heard in server.heard]
        server.heard.clear()
        probe.probe(target(server.port), NOW)
    assert with_key == ["Bearer sk-1"] * 4
    assert [heard.headers.get("authorization") for heard in server.heard] == [None] * 4


def test_metrics_speak_the_engines_own_names(probe: HttpProbe) -> None:
    """The dialect reads them; what is not exported stays None."""
    found = asked(probe, {})
    assert found.metrics == Known(EngineMetrics(running=2.0))


# -- refused, loading, failing, silent are four different states


def test_nothing_listening_is_refused(probe: HttpProbe) -> None:
    """The normal state of an engine that has not finished loading."""
    port = free_port()
    found = probe.probe(target(port), NOW)
    assert found.phase is ServePhase.REFUSED
    assert f"127.0.0.1:{port}" in found.detail
    assert isinstance(found.metrics, Unknown)
    assert found.completion is None


def hang_up(connection: socket.socket, over: threading.Event) -> None:
    """As Docker's proxy does for a container that does not listen."""


def reset(connection: socket.socket, over: threading.Event) -> None:
    """Hang up with a reset, after the request came."""
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("behave", [hang_up, reset])
def test_hang_up_without_an_answer_is_refused(
    probe: HttpProbe, behave: Callable[[socket.socket, threading.Event], None]
) -> None:
    """A proxy that accepts for nobody is no engine that fails."""
    with breaking(behave) as port:
        found = probe.probe(target(port), NOW)
    assert found.phase is ServePhase.REFUSED
    assert "hung up" in found.detail


def test_503_is_loading_with_the_engines_words(probe: HttpProbe) -> None:
    """llama.cpp answers at once and says that it loads; its metrics are not to be had then."""
    loading = Told(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    found = asked(probe, dict.fromkeys(HEALTHY, loading))
    assert found.phase is ServePhase.LOADING
    assert "Loading model" in found.detail
    assert found.served is None
    assert found.completion is None
    assert isinstance(found.metrics, Unknown)
    assert "503" in found.metrics.reason


def test_busy_engine_still_shows_its_metrics(probe: HttpProbe) -> None:
    """A 503 of a working engine must not hide that it makes progress."""
    found = asked(probe, {str(VLLM.health): Told(503)})
    assert found.phase is ServePhase.LOADING
    assert found.metrics == Known(EngineMetrics(running=2.0))


@pytest.mark.parametrize("status", [301, 400, 404, 500, 502])
def test_other_statuses_are_failing(probe: HttpProbe, status: int) -> None:
    """Neither a redirect nor an error counts as health, and a redirect is not followed."""
    told = Told(status, {"detail": "out of order"}, {"Location": f"http://127.0.0.1:{free_port()}/"})
    found = asked(probe, {str(VLLM.health): told})
    assert found.phase is ServePhase.FAILING
    assert f"/health answers {status}: out of order" in found.detail


def test_wrong_name_is_failing_and_says_what_is_served(probe: HttpProbe) -> None:
    """A 200 of another model on the same port is not our engine."""
    found = asked(probe, {str(VLLM.models): Told(body={"data": [{"id": "other"}, {"id": "third"}]})})
    assert (found.phase, found.served) == (ServePhase.FAILING, False)
    assert found.detail == "serves other, third and not chat"
    assert found.completion is None


def test_alias_counts_as_listed(probe: HttpProbe) -> None:
    """llama.cpp lists one model and all its names beside it."""
    models = {"data": [{"id": "alias", "aliases": ["alias", "chat"]}]}
    assert asked(probe, {str(VLLM.models): Told(body=models)}).served is True


@pytest.mark.parametrize(
    "body", ["", "null", "[1]", '{"data": {"id": "chat"}}', "<html>", "[" * 10_000, b"\xff", '{"data": [7]}']
)
def test_list_that_is_no_list_is_failing(probe: HttpProbe, body: str | bytes) -> None:
    """Whatever comes instead of a model list, the probe says so and does not break."""
    found = asked(probe, {str(VLLM.models): Told(body=body)})
    assert (found.phase, found.served) == (ServePhase.FAILING, False)


@pytest.mark.parametrize("path", [VLLM.models, VLLM.completion])
@pytest.mark.parametrize("status", [401, 403])
def test_refused_key_is_failing_and_named(probe: HttpProbe, path: str, status: int) -> None:
    """The most common slip is said in words, without repeating the key."""
    told = Told(status, {"error": {"message": "Incorrect API key provided: sk-secret"}})
    found = asked(probe, {path: told}, api_key="sk-secret")
    assert found.phase is ServePhase.FAILING
    assert "api key is refused" in found.detail
    assert "sk-secret" not in repr(found)


def test_key_is_struck_out_of_an_engines_words(probe: HttpProbe) -> None:
    """An engine that repeats the key in another error does not bring it into a status or a journal."""
    told = Told(500, {"error": {"message": "cannot use sk-secret here"}})
    found = asked(probe, {str(VLLM.health): told, str(VLLM.metrics): told}, api_key="sk-secret")
    assert "cannot use *** here" in found.detail
    assert "sk-secret" not in repr(found)


def test_key_that_cannot_be_sent_is_no_crash_and_no_leak(probe: HttpProbe) -> None:
    """A key with a line break would be an illegal header."""
    found = asked(probe, {}, api_key="sk-\nsecret")
    assert found.phase is ServePhase.FAILING
    assert "plain text" in found.detail
    assert "secret" not in repr(found).replace("api key", "")


def test_long_words_are_cut_and_control_characters_dropped(probe: HttpProbe) -> None:
    """A status line stays a line."""
    found = asked(probe, {str(VLLM.health): Told(500, "\n\x1b[31m" + "x" * 10_000)})
    assert len(found.detail) < SHORT + 60
    assert found.detail.isprintable()


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


def say_nothing(connection: socket.socket, over: threading.Event) -> None:
    """Accept and wait."""
    over.wait(30)


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


# -- the completion


def completion(text: object = " four", finish: object = "stop", tokens: object = 4, **choice: object) -> dict[str, object]:
    """A completion answer with these parts."""
    return {"choices": [{"text": text, "finish_reason": finish, **choice}], "usage": {"completion_tokens": tokens}}


@pytest.mark.parametrize(
    "body",
    [
        completion(),
        completion(finish="length"),
        completion(text="", finish="length"),
        completion(text=None, reasoning_content="Let me"),
        completion(text="", message={"content": None, "reasoning": "Let me"}),
        completion(text="", message={"content": "", "tool_calls": [{"id": "1"}]}, finish="tool_calls"),
    ],
)
def test_completion_with_tokens_is_fine(probe: HttpProbe, body: dict[str, object]) -> None:
    """Text, reasoning or tool calls; a thinking model may be cut off before its first word."""
    found = asked(probe, {str(VLLM.completion): Told(body=body)})
    assert found.completion is not None
    assert found.completion.ok, found.completion.detail
    assert found.completion.tokens == 4


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (completion(tokens=0), "counts no token"),
        (completion(tokens=0, text="", finish="length"), "counts no token"),
        (completion(tokens=None), "counts no token"),
        (completion(tokens=True), "counts no token"),
        (completion(text=""), "is empty"),
        (completion(finish=None), "no finish reason"),
        ({"choices": [], "usage": {"completion_tokens": 4}}, "no choice"),
        ({"choices": {}, "usage": []}, "no choice"),
        ("not JSON", "no choice"),
        ("", "no choice"),
    ],
)
def test_silent_empty_completion_is_not_fine(probe: HttpProbe, body: object, words: str) -> None:
    """A 200 proves nothing; the engine goes on counting as serving and as not ready."""
    found = asked(probe, {str(VLLM.completion): Told(body=body)})
    assert found.phase is ServePhase.SERVING
    assert found.completion is not None
    assert not found.completion.ok
    assert words in found.completion.detail


def test_completion_that_fails_is_told(probe: HttpProbe) -> None:
    """The engine's own words reach the status."""
    found = asked(probe, {str(VLLM.completion): Told(500, {"error": {"message": "EngineDeadError"}})})
    assert found.phase is ServePhase.SERVING
    assert found.completion is not None
    assert not found.completion.ok
    assert "500: EngineDeadError" in found.completion.detail


def test_completion_that_hangs_is_bounded(probe: HttpProbe) -> None:
    """Health says 200 and nothing is ever completed: the probe still ends, and still brings the metrics."""
    release = threading.Event()
    with telling({**HEALTHY, str(VLLM.completion): Told(body=DONE, wait_for=release)}) as server:
        found = probe.probe(target(server.port, completion_timeout_s=0.3), NOW)
        release.set()
    assert found.phase is ServePhase.SERVING
    assert found.completion is not None
    assert not found.completion.ok
    assert "within 0.3 s" in found.completion.detail
    assert found.metrics == Known(EngineMetrics(running=2.0))


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
