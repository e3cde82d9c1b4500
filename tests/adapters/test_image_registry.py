"""Whether a registry still has an image: what its answers mean, the token that it may want, and politeness."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from controller.adapters.http.image_registry import ImageRegistries, Reference, Seen, taken_apart
from controller.model.profile_engine import AvailabilityState
from controller.settings import Bounds
from tests.fakes.image_registry import Registry, registry

AVAILABLE, PURGED = Seen(AvailabilityState.AVAILABLE), Seen(AvailabilityState.PURGED)
DIGEST = f"sha256:{'0' * 64}"


@pytest.fixture
def fake() -> Iterator[Registry]:
    """A registry with two images."""
    with registry() as running:
        running.images = {"vllm/engine:1", f"vllm/engine:{DIGEST}"}
        yield running


@pytest.fixture
def asker() -> Iterator[ImageRegistries]:
    """Asks within the usual bound."""
    made = ImageRegistries(Bounds())
    yield made
    made.close()


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ("vllm/vllm-openai:v1", Reference("docker.io", "vllm/vllm-openai", "v1")),
        ("ubuntu", Reference("docker.io", "library/ubuntu", "latest")),
        ("docker.io/ubuntu:1", Reference("docker.io", "library/ubuntu", "1")),
        ("ghcr.io/a/b.c:d", Reference("ghcr.io", "a/b.c", "d")),
        (f"ghcr.io/a/b:1@{DIGEST}", Reference("ghcr.io", "a/b", DIGEST)),
        ("localhost/a", Reference("localhost", "a", "latest")),
        ("127.0.0.1:5000/a", Reference("127.0.0.1:5000", "a", "latest")),
        (DIGEST, None),
        ("0" * 64, None),
    ],
)
def test_references_are_taken_apart_as_docker_does(image: str, reference: Reference | None) -> None:
    """Given a reference, when it is taken apart, then host, repository and version are those that Docker would use."""
    assert taken_apart(image) == reference


@pytest.mark.parametrize("realm", ["", "here"])
def test_what_is_there_and_what_is_gone(fake: Registry, asker: ImageRegistries, realm: str) -> None:
    """Given a registry, with and without tokens, when it is asked, then tags and digests are available or purged."""
    fake.realm = realm
    assert asker.look(fake.reference("vllm/engine")) == AVAILABLE
    assert asker.look(fake.reference("vllm/engine", DIGEST)) == AVAILABLE
    assert asker.look(fake.reference("vllm/engine", "2")) == PURGED
    assert asker.look(fake.reference("nobody/knows")) == PURGED


def test_a_token_is_asked_for_once_a_question(fake: Registry, asker: ImageRegistries) -> None:
    """Given a registry that wants a token, when it is asked, then the token is for pulling that repository alone."""
    fake.realm = "here"
    asker.look(fake.reference("vllm/engine"))
    assert fake.heard == [
        "HEAD /v2/vllm/engine/manifests/1",
        "GET /token?service=test&scope=repository%3Avllm%2Fengine%3Apull",
        "HEAD /v2/vllm/engine/manifests/1",
    ]


@pytest.mark.parametrize("token", ["no JSON", "[]", '{"token": 3}', '{"token": "a\\nb"}', "{}"])
def test_an_answer_without_a_token_is_unknown(fake: Registry, asker: ImageRegistries, token: str) -> None:
    """Given a token service that gives none, when the registry is asked, then nothing is known, and nothing breaks."""
    fake.realm, fake.token = "here", token
    seen = asker.look(fake.reference("vllm/engine"))
    assert seen.state is AvailabilityState.UNKNOWN
    assert "not logged in" in seen.why


def test_a_token_is_never_fetched_over_an_open_line_elsewhere(fake: Registry, asker: ImageRegistries) -> None:
    """Given a challenge that leads to another host, when the registry is asked, then nobody there is asked without TLS."""
    fake.realm = "ftp://127.0.0.1/token"
    assert asker.look(fake.reference("vllm/engine")).state is AvailabilityState.UNKNOWN
    assert len(fake.heard) == 1


@pytest.mark.parametrize(
    ("status", "words"), [(401, "not logged in"), (403, "not logged in"), (500, "answers 500"), (302, "answers 302")]
)
def test_other_answers_are_unknown(fake: Registry, asker: ImageRegistries, status: int, words: str) -> None:
    """Given an answer that is no clear yes or no, when it is judged, then the state is unknown and says why."""
    fake.answers["vllm/engine"] = status
    seen = asker.look(fake.reference("vllm/engine"))
    assert seen.state is AvailabilityState.UNKNOWN
    assert words in seen.why


def test_a_registry_that_asks_for_patience_is_left_alone(fake: Registry, asker: ImageRegistries) -> None:
    """Given a 429, when further images of that registry are looked for, then it is not asked again."""
    fake.answers["vllm/engine"] = 429
    assert "it asks for patience (60 s)" in asker.look(fake.reference("vllm/engine")).why
    assert "not asked" in asker.look(fake.reference("other")).why
    assert len(fake.heard) == 1


def test_a_registry_that_is_not_there_is_asked_once(asker: ImageRegistries) -> None:
    """Given a port that nothing listens on, when two images are looked for, then both are unknown."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    first, second = (asker.look(f"127.0.0.1:{port}/{name}:1") for name in ("a", "b"))
    assert (first.state, second.state) == (AvailabilityState.UNKNOWN, AvailabilityState.UNKNOWN)
    assert "cannot be reached" in first.why
    assert "not asked" in second.why


def test_a_registry_that_says_nothing_is_waited_for_within_the_bound(fake: Registry) -> None:
    """Given a registry that hangs, when it is asked, then the answer is unknown after the bound."""
    hasty = ImageRegistries(Bounds(registry_read=0.2))
    seen = hasty.look(fake.reference("slow"))
    hasty.close()
    assert (seen.state, seen.why) == (AvailabilityState.UNKNOWN, f"127.0.0.1:{fake.port}: no answer within 0.2 s")


def test_an_id_is_known_to_no_registry(asker: ImageRegistries) -> None:
    """Given the id of an image, when it is looked for, then nobody is asked."""
    assert "only the engine that has it" in asker.look(DIGEST).why
