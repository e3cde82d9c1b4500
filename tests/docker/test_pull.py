"""Pulls from a real registry by a real engine, with everything that registries do to people."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator

import pytest

from controller.adapters.docker.engine import DockerEngine
from controller.errors import PullFailed
from controller.settings import Bounds
from tests.conftest import require
from tests.docker.registry import Fault, Registry, registry_program, running_registry
from tests.docker_fixtures import DockerRig, eventually

pytestmark = pytest.mark.docker
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def registry(docker_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """One registry for this file."""
    program, problem = registry_program()
    require("registry", bool(program), problem)
    with running_registry(program, tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def name(registry: Registry, docker_rig: DockerRig) -> Iterator[str]:
    """A repository of its own for each test; its images leave the engine afterwards."""
    repository = f"steward-test-{uuid.uuid4().hex[:8]}"
    registry.door.faults.clear()
    docker_rig.later(lambda: docker_rig.api.remove_image(registry.door.reference(repository), force=True))
    yield repository
    registry.door.faults.clear()


def adapter(rig: DockerRig, **bounds: float) -> DockerEngine:
    """An adapter with bounds of its own, closed when the test ends."""
    engine = DockerEngine(rig.host, Bounds(**bounds))  # type: ignore[arg-type]
    rig.later(engine.close)
    return engine


def ignored(_sentence: str) -> None:
    """A progress report that nobody reads."""


def test_a_pull_brings_the_image_and_tells_how_far_it_is(registry: Registry, docker_rig: DockerRig, name: str) -> None:
    """Afterwards the engine has it, with the digest that the registry gave."""
    registry.publish(name, content=os.urandom(5 * MEGABYTE))
    told: list[str] = []
    image = docker_rig.engine.pull(registry.door.reference(name), told.append)
    assert image == docker_rig.engine.inspect(registry.door.reference(name))
    assert image.tags == (registry.door.reference(name),)
    assert len(image.digests) == 1
    assert image.command == ("/file",)
    assert any("100 % of 5 MB" in sentence for sentence in told), told
    assert len(told) == len(set(told))


def test_a_digest_reference_is_pulled_exactly(registry: Registry, docker_rig: DockerRig, name: str) -> None:
    """The pinned digest, although the tag has moved on."""
    registry.publish(name, content=b"first")
    first = docker_rig.engine.pull(registry.door.reference(name), ignored)
    docker_rig.api.remove_image(first.id, force=True)
    registry.publish(name, content=b"second")
    assert docker_rig.engine.pull(first.digests[0], ignored).id == first.id
    docker_rig.later(lambda: docker_rig.api.remove_image(first.id, force=True))


@pytest.mark.parametrize(
    ("fault", "label"),
    [
        (Fault("/manifests/", 401, "UNAUTHORIZED"), "unauthorized"),
        (Fault("/manifests/", 403, "DENIED"), "unauthorized"),
        (Fault("/manifests/", 404, "MANIFEST_UNKNOWN"), "not found"),
        (Fault("/manifests/", 429, "TOOMANYREQUESTS"), "rate limited"),
        (Fault("/manifests/", 503, "UNAVAILABLE"), "registry failing"),
        (Fault("/blobs/", 404, "BLOB_UNKNOWN"), "not found"),
        (Fault("/blobs/", 429, "TOOMANYREQUESTS"), "rate limited"),
    ],
    ids=lambda value: f"{value.status}-{value.part.strip('/')}" if isinstance(value, Fault) else "",
)
def test_a_refusing_registry_is_quoted_with_a_class(
    registry: Registry, docker_rig: DockerRig, name: str, fault: Fault, label: str
) -> None:
    """git-16: the reason is there at once, and no image is."""
    registry.publish(name, content=os.urandom(1000))
    registry.door.faults.append(fault)
    with pytest.raises(PullFailed, match=f"pull of {registry.door.reference(name)}: {label}: "):
        docker_rig.engine.pull(registry.door.reference(name), ignored)
    assert docker_rig.engine.inspect(registry.door.reference(name)) is None


def test_an_absent_tag_is_not_found(registry: Registry, docker_rig: DockerRig, name: str) -> None:
    """The repository exists, the tag does not."""
    registry.publish(name, content=b"x")
    with pytest.raises(PullFailed, match="not found: "):
        docker_rig.engine.pull(registry.door.reference(name, "nightly-gone"), ignored)


def test_a_stalled_pull_ends_at_its_bound(registry: Registry, docker_rig: DockerRig, name: str) -> None:
    """git-16: a registry that falls silent in the middle of a layer does not hold the lane for ever."""
    registry.publish(name, content=os.urandom(MEGABYTE))
    registry.door.faults.append(Fault("/blobs/", hold_s=60))
    began = time.monotonic()
    with pytest.raises(PullFailed, match="timed out: "):
        adapter(docker_rig, pull_stall=1.0).pull(registry.door.reference(name), ignored)
    assert time.monotonic() - began < 10


def test_a_slow_pull_ends_at_its_bound(registry: Registry, docker_rig: DockerRig, name: str) -> None:
    """Steady progress, but too slow for the bound of the whole."""
    registry.publish(name, content=os.urandom(3 * MEGABYTE))
    registry.door.faults.append(Fault("/blobs/", hold_s=0.2))
    began = time.monotonic()
    with pytest.raises(PullFailed, match="timed out: "):
        adapter(docker_rig, pull=1.5, pull_stall=30.0).pull(registry.door.reference(name), ignored)
    assert time.monotonic() - began < 10


def test_a_cut_that_heals_is_survived(registry: Registry, docker_rig: DockerRig, name: str) -> None:
    """The engine itself tries a broken layer again; the pull goes on when the registry is back."""
    registry.publish(name, content=os.urandom(MEGABYTE))
    registry.door.faults.append(Fault("/blobs/", cut_after=131072))
    outcome: list[str] = []

    def pull() -> None:
        outcome.append(docker_rig.engine.pull(registry.door.reference(name), ignored).id)

    pulling = threading.Thread(target=pull, daemon=True)
    pulling.start()
    eventually(lambda: sum("/blobs/" in path for path in registry.door.seen[-2:]), within=10)
    registry.door.faults.clear()
    pulling.join(timeout=60)
    assert len(outcome) == 1


def test_an_image_of_another_platform_does_not_stay(registry: Registry, docker_rig: DockerRig, name: str) -> None:
    """git-16: it would pass for present and fail only when the old engine has stopped."""
    registry.publish(name, architecture="arm64", content=os.urandom(1000))
    with pytest.raises(PullFailed, match=r"wrong platform: .*linux/arm64|wrong platform: "):
        docker_rig.engine.pull(registry.door.reference(name), ignored)
    assert docker_rig.engine.inspect(registry.door.reference(name)) is None


def test_reads_go_on_during_a_pull(registry: Registry, docker_rig: DockerRig, name: str) -> None:
    """A pull has a connection of its own."""
    registry.publish(name, content=os.urandom(MEGABYTE))
    registry.door.faults.append(Fault("/blobs/", hold_s=60))
    engine = adapter(docker_rig, pull_stall=3.0)

    def pull() -> None:
        with pytest.raises(PullFailed):
            engine.pull(registry.door.reference(name), ignored)

    pulling = threading.Thread(target=pull, daemon=True)
    pulling.start()
    began = time.monotonic()
    for _ in range(5):
        engine.list()
    assert time.monotonic() - began < 2.5
    assert pulling.is_alive()
    pulling.join(timeout=30)
