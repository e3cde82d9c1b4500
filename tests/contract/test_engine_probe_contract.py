"""The HTTP probe against servers that answer: what each answer of an engine means."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable

import pytest

from controller.adapters.http.checks import SHORT
from controller.adapters.http_probe import MAX_TOKENS, HttpProbe
from controller.dialects.registry import DIALECTS, dialect
from controller.model.observed import EngineMetrics, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Known, Unknown
from tests.contract.http_servers import Told, breaking, free_port, hang_up, telling
from tests.contract.probing import DONE, HEALTHY, MODELS, NOW, VLLM, asked, target

ENGINES = sorted(DIALECTS.keys() - {DialectName.GENERIC})


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


def test_a_name_is_said_once(probe: HttpProbe) -> None:
    """An engine that lists its model as an alias of itself still serves one name."""
    models = {"data": [{"id": "other", "aliases": ["other"]}]}
    assert asked(probe, {str(VLLM.models): Told(body=models)}).detail == "serves other and not chat"


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
