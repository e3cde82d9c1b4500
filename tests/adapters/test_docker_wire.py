"""Every way in which an engine fails to answer ends in time and in one of Steward's errors."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller.adapters.docker.engine import DockerEngine
from controller.errors import EngineUnreachable, EnvironmentFault, PullFailed, SpecFault
from controller.model.fields import SecretRef
from controller.model.identity import Identity
from controller.model.plan import CreateRequest
from controller.model.resolved import ContainerSpec
from controller.settings import Bounds
from tests.fakes.scripted_engine import Answer, ScriptedEngine, answer, chunked, refused, scripted_engine

QUICK = Bounds(docker_read=0.4, docker_write=0.4, docker_stop_margin=0.4, pull=1.5, pull_stall=0.4)
ID = "a" * 64
SPEC = ContainerSpec(image="x:1", argv=("serve",), port=8010, container_port=8000)
REQUEST = CreateRequest(Identity("t1", "chat", "0123456789abcdef", 1), "t1.chat-01234567-1", SPEC)


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[ScriptedEngine]:
    """An engine of prepared answers."""
    with scripted_engine(tmp_path) as engine:
        yield engine


@pytest.fixture
def engine(scripted: ScriptedEngine) -> Iterator[DockerEngine]:
    """The adapter in front of it, with short bounds."""
    adapter = DockerEngine(scripted.address, QUICK)
    yield adapter
    adapter.close()


def test_construction_asks_nobody(tmp_path: Path) -> None:
    """An engine that is not there is only noticed by the first call, whose error names the address."""
    adapter = DockerEngine(f"unix://{tmp_path}/absent.sock", QUICK)
    with pytest.raises(EngineUnreachable, match=r"absent\.sock.*no such file"):
        adapter.list()


def test_the_version_is_agreed_on_once(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """The first call negotiates; later ones go straight to their path in that version."""
    scripted.answers["/containers/json"] = answer(body=[])
    assert engine.list() == ()
    assert engine.list() == ()
    assert [line for line in scripted.asked if "/version" in line] == ["GET /version"]
    assert [line for line in scripted.asked if "json" in line] == ["GET /v1.41/containers/json?all=1"] * 2


@pytest.mark.parametrize(
    "bad",
    [
        Answer((b"",)),
        Answer((b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{",)),
        answer(raw=b"[{"),
        answer(502, raw=b"<html>bad gateway</html>"),
        answer(404, raw=b"<html>no</html>"),
        Answer((b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", *(b" " for _ in range(40))), pause_s=0.1),
        refused(500, "context deadline exceeded"),
    ],
    ids=["hangs", "cut", "half-a-document", "proxy", "not-docker", "trickles", "deadline"],
)
def test_a_failed_list_is_unreachable_and_in_time(scripted: ScriptedEngine, engine: DockerEngine, bad: Answer) -> None:
    """It is never an empty list, and it never takes much longer than its bound."""
    scripted.answers["/containers/json"] = bad
    began = time.monotonic()
    with pytest.raises(EngineUnreachable):
        engine.list()
    assert time.monotonic() - began < 3


def test_a_container_that_vanishes_between_list_and_inspection_is_skipped(
    scripted: ScriptedEngine, engine: DockerEngine
) -> None:
    """The list itself is still good."""
    labels = REQUEST.identity.labels()
    scripted.answers["/containers/json"] = answer(
        body=[
            {"Id": ID, "Names": ["/t1.chat"], "State": "exited", "Labels": labels},
            {"Id": "b" * 64, "Names": ["/other"], "State": "running", "Labels": {}},
        ]
    )
    scripted.answers[f"/containers/{ID}/json"] = refused(404, f"No such container: {ID}")
    assert [container.name for container in engine.list()] == ["other"]


def test_an_engine_that_was_upgraded_is_negotiated_with_again(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """The refusal of an old API version is no fault of the spec, and the next call speaks the new one."""
    scripted.answers["/containers/json"] = refused(400, "client version 1.41 is too old. Minimum supported API version is 1.44")
    with pytest.raises(EngineUnreachable):
        engine.list()
    scripted.answers["/version"] = answer(body={"ApiVersion": "1.52"})
    scripted.answers["/containers/json"] = answer(body=[])
    assert engine.list() == ()
    assert scripted.asked[-1] == "GET /v1.52/containers/json?all=1"


def test_a_stop_waits_as_long_as_it_grants(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """The bound of a stop is its grace plus a margin, rounded up to what the engine understands."""
    scripted.answers["/stop"] = Answer((b"",))
    began = time.monotonic()
    with pytest.raises(EngineUnreachable):
        engine.stop(ID, 0.5)
    assert 1.2 < time.monotonic() - began < 4
    assert scripted.asked[-1] == f"POST /v1.41/containers/{ID}/stop?t=1"


def test_lanes_do_not_wait_for_each_other(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """While one call hangs, others go through."""
    scripted.answers["/start"] = Answer((b"",))
    scripted.answers["/containers/json"] = answer(body=[])
    engine.list()

    def hang() -> None:
        with pytest.raises(EngineUnreachable):
            engine.start(ID)

    hanging = threading.Thread(target=hang)
    hanging.start()
    began = time.monotonic()
    assert engine.list() == ()
    assert time.monotonic() - began < 0.3
    hanging.join(timeout=5)


def test_a_failed_join_takes_the_half_made_container_back(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """A create of several steps leaves nothing behind."""
    scripted.answers["GET /v1.41/networks/ui"] = answer(body={"Id": "n1"})
    scripted.answers["/containers/create"] = answer(201, {"Id": ID})
    scripted.answers["/networks/ui/connect"] = refused(500, "network is shutting its doors")
    scripted.answers[f"DELETE /v1.41/containers/{ID}"] = answer(204)
    with pytest.raises(EnvironmentFault, match="shutting its doors"):
        engine.create(replace(REQUEST, spec=replace(SPEC, networks=("ui",))), {}, ["serve"])
    assert scripted.asked[-1] == f"DELETE /v1.41/containers/{ID}?v=1"


def test_networks_are_joined_under_the_instance_s_name(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """A UI next door finds the engine by a name that survives its container."""
    scripted.answers["GET /v1.41/networks/ui"] = answer(body={"Id": "n1"})
    scripted.answers["/containers/create"] = answer(201, {"Id": ID})
    scripted.answers["/networks/ui/connect"] = answer(200)
    assert engine.create(replace(REQUEST, spec=replace(SPEC, networks=("ui",))), {}, ["serve"]) == ID
    assert json.loads(scripted.bodies[-1]) == {"Container": ID, "EndpointConfig": {"Aliases": ["chat"]}}


def test_a_refusal_never_repeats_a_secret(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """The engine quotes what it does not like; a secret's value is taken out of its sentence."""
    spec = replace(SPEC, env=(("TOKEN", SecretRef(secret="hub")),), argv=("--key", SecretRef(secret="api")))
    scripted.answers["/containers/create"] = refused(400, "bad words: TOKEN=s3cret-one and s3cret-two")
    with pytest.raises(SpecFault) as caught:
        engine.create(replace(REQUEST, spec=spec), {"TOKEN": "s3cret-one"}, ["--key", "s3cret-two"])
    assert str(caught.value) == "bad words: TOKEN=*** and ***"


def test_anonymous_volumes_go_with_their_container_and_nothing_is_forced(
    scripted: ScriptedEngine, engine: DockerEngine
) -> None:
    """One request says both."""
    scripted.answers["DELETE"] = answer(204)
    engine.remove(ID)
    assert scripted.asked[-1] == f"DELETE /v1.41/containers/{ID}?v=1"


@pytest.mark.parametrize("said", ["removal of container x is already in progress"])
def test_a_removal_under_way_is_fine(scripted: ScriptedEngine, engine: DockerEngine, said: str) -> None:
    """Somebody else is at it."""
    scripted.answers["DELETE"] = refused(409, said)
    engine.remove(ID)


def test_a_pull_that_goes_quiet_has_hung(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """Silence on the stream ends the pull."""
    scripted.answers["/images/create"] = chunked(b'{"status":"Pulling from x"}\n', b"")
    with pytest.raises(PullFailed, match="timed out"):
        engine.pull("x:1", lambda _sentence: None)


def test_a_pull_that_never_begins_has_hung(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """The engine does not answer at all before the registry does."""
    scripted.answers["/images/create"] = Answer((b"",))
    with pytest.raises(PullFailed, match="timed out"):
        engine.pull("x:1", lambda _sentence: None)


def test_a_pull_that_only_trickles_ends_at_its_bound(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """Progress without end is bounded as a whole."""
    line = b'{"status":"Downloading","id":"a","progressDetail":{"current":1,"total":100}}\n'
    scripted.answers["/images/create"] = chunked(*([line] * 60), pause_s=0.1)
    began = time.monotonic()
    with pytest.raises(PullFailed, match="timed out"):
        engine.pull("x:1", lambda _sentence: None)
    assert time.monotonic() - began < 5


def test_a_pull_cut_by_the_engine_is_unreachable(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """The engine went away in the middle: whether the image is there, only a look will tell."""
    scripted.answers["/images/create"] = chunked(b'{"status":"Pulling from x"}\n', complete=False)
    with pytest.raises(EngineUnreachable):
        engine.pull("x:1", lambda _sentence: None)


def test_a_pull_sums_its_layers_up(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """One sentence per percent, not one per message."""
    lines = [
        {"status": "Pulling from x", "id": "1"},
        *(
            {"status": "Downloading", "id": layer, "progressDetail": {"current": part, "total": 50_000_000}}
            for part in (10_000_000, 10_000_001, 50_000_000)
            for layer in ("a", "b")
        ),
        {"status": "Status: Downloaded newer image for x:1"},
    ]
    scripted.answers["/images/create"] = chunked(*(json.dumps(line).encode() + b"\r\n" for line in lines))
    scripted.answers["/images/x:1/json"] = answer(body={"Id": "sha256:1", "Os": "linux", "Architecture": "amd64"})
    told: list[str] = []
    assert engine.pull("x:1", told.append).id == "sha256:1"
    assert told == [
        "downloading 20 % of 50 MB in 1 layers",
        "downloading 20 % of 100 MB in 2 layers",
        "downloading 60 % of 100 MB in 2 layers",
        "downloading 100 % of 100 MB in 2 layers",
        "Status: Downloaded newer image for x:1",
    ]


def test_a_quiet_event_stream_is_opened_again_where_it_ended(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """A stream that died without a word is noticed, and nothing between the two is missed."""
    event = {"Type": "container", "Action": "die", "Actor": {"ID": ID}, "time": 7, "timeNano": 7_000_000_009}
    scripted.answers["/events"] = chunked(json.dumps(event).encode() + b"\n", b"")
    woken: list[str] = []
    engine.follow(woken.append, lambda: len(woken) >= 2)
    assert woken == ["docker-die", "docker-die"]
    opened = [line for line in scripted.asked if "/events" in line]
    assert "since" not in opened[0]
    assert "since=7.000000010" in opened[1]


def test_the_execs_of_health_checks_are_kept_out_at_the_engine(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """The filter names the actions that matter, so that a flood of execs costs nothing here."""
    scripted.answers["/events"] = chunked()
    engine.follow(lambda _text: None, lambda: False)
    assert "exec" not in scripted.asked[-1]
    assert "%22die%22" in scripted.asked[-1]


def test_a_question_about_the_future_is_cut_to_the_present(scripted: ScriptedEngine, engine: DockerEngine) -> None:
    """Otherwise the engine would hold the answer back until then."""
    scripted.answers["/events"] = chunked()
    now = time.time()
    assert engine.hand_signal(ID, now - 5, now + 3600) is None
    until = float(scripted.asked[-1].split("until=")[1].split("&")[0])
    assert now - 1 < until < now + 5


@pytest.mark.parametrize(
    "call",
    [
        lambda engine: engine.tail(ID, 5),
        lambda engine: engine.hand_signal(ID, 0.0, 1.0),
        lambda engine: engine.inspect("x:1"),
        lambda engine: engine.create(REQUEST, {}, ["serve"]),
    ],
    ids=["tail", "hand_signal", "inspect", "create"],
)
def test_a_hanging_engine_is_left_in_time(
    scripted: ScriptedEngine, engine: DockerEngine, call: Callable[[DockerEngine], object]
) -> None:
    """Whatever is asked."""
    for path in ("/logs", "/events", "/images/", "/containers/create"):
        scripted.answers[path] = Answer((b"",))
    began = time.monotonic()
    with pytest.raises(EngineUnreachable):
        call(engine)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "host",
    ["tcp://127.0.0.1:1", "unix:///nowhere/docker.sock", "ssh://nobody@127.0.0.1", "nonsense://x"],
)
def test_an_address_where_no_engine_is_is_unreachable(host: str) -> None:
    """Whatever the address looks like, the error names it."""
    engine = DockerEngine(host, Bounds(docker_read=1.0))
    calls: list[Callable[[], object]] = [engine.list, engine.engine_id]
    for call in calls:
        with pytest.raises(EngineUnreachable, match=host):
            call()
