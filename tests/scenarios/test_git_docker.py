"""What stands in the way on the engine: names, ports and images that are not to be had (git-13, 15, 16)."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from tests.conftest import require
from tests.docker.harness import Entry, Steward, free_port, until
from tests.docker.registry import Fault, Registry, registry_program, running_registry
from tests.scenarios.looking import engines, kinds, listener, throughout, waiting

pytestmark = pytest.mark.docker
MEGABYTE = 1_000_000


def spec_hash(steward: Steward, name: str) -> str:
    """The spec hash of an instance as the estate is now."""
    explained = steward.cli("explain", name)
    assert explained.returncode == 0, explained.stderr
    rows = [line.split() for line in explained.stdout.splitlines()]
    return next(row[1] for row in rows if row[0] == "spec_hash")


def wanted_name(steward: Steward, instance: str, generation: int) -> str:
    """The name of the container that the estate asks for now."""
    return f"{steward.rig}.{instance}-{spec_hash(steward, instance)[:8]}-{generation}"


@pytest.fixture
def foreign(docker_client: docker.DockerClient, simulated_image: str) -> Iterator[list[Container]]:
    """Containers of somebody else; they go when the test ends."""
    made: list[Container] = []
    yield made
    for container in made:
        container.remove(force=True)


def test_git_13_foreign_container_with_the_name(
    steward: Steward, docker_client: docker.DockerClient, simulated_image: str, foreign: list[Container]
) -> None:
    """Given a foreign container with the next name, when an edit wants it, then the old engine serves and the id is told."""
    port = free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    before = engines(steward)
    edited = Entry("chat", port, args=("--sim-tps", "99"))
    held = steward.estate.with_name("held")
    held.mkdir()
    (held / "estate.yml").write_text(steward.text(edited))
    steward.more_env["STEWARD_ESTATE"] = str(held)
    name = wanted_name(steward, "chat", 2)
    foreign.append(docker_client.containers.create(simulated_image, name=name))
    steward.write(edited)
    until(lambda: foreign[0].short_id in waiting(steward, "create"), "the foreign container to be named")
    assert foreign[0].short_id in steward.instance("chat")["why"]
    assert steward.complete(port, "chat")["choices"]
    assert engines(steward) == before
    foreign[0].reload()
    assert (foreign[0].status, foreign[0].name) == ("created", name)
    foreign[0].rename(f"{name}-mine")
    steward.converged()
    assert engines(steward) != before


@pytest.mark.parametrize("with_store", [True, False], ids=["store", "no store"])
def test_git_13_leftover_of_an_interrupted_recreate(steward: Steward, with_store: bool) -> None:
    """Given our stopped container under an odd name, when Steward starts, then it is taken up again, name and all."""
    port = free_port()
    steward.write(Entry("chat", port))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    ours = steward.only("chat")
    name = ours.name
    ours.stop(timeout=2)
    ours.rename(f"{ours.short_id}_{name}")
    if not with_store:
        shutil.rmtree(steward.state)
    steward.start()
    steward.converged()
    after = steward.only("chat")
    assert (after.id, after.name) == (ours.id, name)


def test_git_13_own_leftover_with_the_wanted_name(steward: Steward) -> None:
    """Given our older container under the name that is wanted next, when an edit wants it, then it gives the name back."""
    port = free_port()
    steward.write(Entry("chat", port))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    first = steward.only("chat")
    steward.write(Entry("chat", port, args=("--sim-tps", "50")))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    steward.write(Entry("chat", port, args=("--sim-tps", "60")))
    first_name = first.name
    first.rename(wanted_name(steward, "chat", 3))
    steward.start()
    steward.converged()
    assert steward.only("chat").labels["steward.generation"] == "3"
    assert first_name in [c.name for c in steward.containers()] or first.id not in [c.id for c in steward.containers()]


def test_git_13_swapped_names(steward: Steward) -> None:
    """Given two of our containers whose names a hand has swapped, when Steward looks, then the running one has its own."""
    port = free_port()
    for tps in ("50", "60"):
        steward.write(Entry("chat", port, args=("--sim-tps", tps)))
        assert steward.cli("apply", "--timeout", "60s").returncode == 0
    old, new = steward.containers("chat")
    names = str(old.name), str(new.name)
    old.rename(f"{steward.rig}.swap")
    new.rename(names[0])
    old.rename(names[1])
    before = engines(steward)
    steward.start()
    until(lambda: steward.only("chat").name == names[1], "the running container's own name")
    steward.converged()
    assert engines(steward) == before


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::"])
def test_git_15_port_taken(steward: Steward, address: str) -> None:
    """Given a listener on the port that an edit asks for, when applied, then it is named and the old engine serves on."""
    port, taken = free_port(), free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    before = engines(steward)
    with closing(listener(address, taken)):
        steward.write(Entry("chat", taken))
        until(lambda: waiting(steward, "start"), "the step that waits for the port")
        for part in (f"port {taken}", f"pid {os.getpid()}", Path("/proc/self/comm").read_text().strip()):
            assert part in waiting(steward, "start")
        assert steward.complete(port, "chat")["choices"]
        assert engines(steward) == before
        chat = steward.instance("chat")
        assert chat["ready"]
        assert not any(c["status"] == "True" for c in chat["conditions"] if c["type"] == "Stalled")
    steward.converged()
    assert steward.complete(taken, "chat")["choices"]
    assert engines(steward) != before


def test_git_15_port_of_a_foreign_container(
    steward: Steward, docker_client: docker.DockerClient, simulated_image: str, foreign: list[Container]
) -> None:
    """Given a foreign container on the port of a new instance, when applied, then it is named, left, and waited for."""
    port = free_port()
    ports: Any = {"8000/tcp": ("127.0.0.1", port)}
    foreign.append(docker_client.containers.run(simulated_image, detach=True, ports=ports))
    steward.write(Entry("chat", port))
    planned = steward.cli("plan")
    assert foreign[0].short_id in planned.stdout
    steward.start()
    until(lambda: foreign[0].short_id in waiting(steward, "start"), "the foreign container to be named")
    throughout(1.0, lambda: not engines(steward), "an engine was started on a port that is held")
    assert not steward.instance("chat")["ready"]
    foreign[0].reload()
    assert foreign[0].status == "running"
    foreign[0].stop(timeout=1)
    steward.converged()


@pytest.fixture(scope="module")
def registry(docker_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """One registry for this file."""
    program, problem = registry_program()
    require("registry", bool(program), problem)
    with running_registry(program, tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def newer(registry: Registry, docker_client: docker.DockerClient, simulated_image: str, tmp_path: Path) -> Iterator[str]:
    """A reference, behind the registry's door, of a newer image of the engine that this engine does not have yet."""
    repository, folder = f"steward-test-{uuid.uuid4().hex[:8]}", tmp_path / "image"
    folder.mkdir()
    (folder / "weights").write_bytes(os.urandom(MEGABYTE))
    (folder / "Dockerfile").write_text(f"FROM {simulated_image}\nCOPY weights /weights\n")
    straight, through = f"127.0.0.1:{registry.port}/{repository}:1", registry.door.reference(repository)
    docker_client.images.build(path=str(folder), tag=straight)
    docker_client.images.push(straight)
    docker_client.images.remove(straight, force=True)
    registry.door.faults.clear()
    yield through
    registry.door.faults.clear()
    for image in docker_client.images.list(through):
        docker_client.images.remove(str(image.id), force=True)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault("/manifests/", 404, "MANIFEST_UNKNOWN"), "not found"),
        (Fault("/manifests/", 429, "TOOMANYREQUESTS"), "rate limited"),
        (Fault("/blobs/", 503, "UNAVAILABLE"), "registry failing"),
    ],
    ids=["404", "429", "503"],
)
def test_git_16_registry_refuses(newer: str, steward: Steward, registry: Registry, fault: Fault, words: str) -> None:
    """Given a registry that refuses, when an edit wants its image, then the old engine serves until the pull works."""
    port = free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    before = engines(steward)
    registry.door.faults.append(fault)
    steward.write(Entry("chat", port, more=(f"image: '{newer}'",)))
    until(lambda: words in waiting(steward, "pull"), lambda: f"{words}; plan {steward.get('/api/v1/plan')}")
    assert words in steward.instance("chat")["why"]
    assert steward.complete(port, "chat")["choices"]
    assert engines(steward) == before
    assert steward.instance("chat")["state"] != "Stalled"
    registry.door.faults.clear()
    steward.converged()
    assert engines(steward) != before
    assert b"weights" in steward.only("chat").exec_run(["ls", "/"]).output


def test_git_16_pull_hangs(newer: str, steward: Steward, registry: Registry) -> None:
    """Given a pull that hangs, when other edits come, then they are carried out, the old engine serves, and all ends well."""
    port, other = free_port(), free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    before = engines(steward)
    registry.door.open.clear()
    registry.door.faults.append(Fault("/blobs/", hold_s=60.0))
    wanted = Entry("chat", port, more=(f"image: '{newer}'",))
    steward.write(wanted)
    until(lambda: any("/blobs/" in path for path in registry.door.seen), "the pull to begin")
    steward.write(wanted, Entry("embed", other))
    steward.ready("embed")
    assert steward.complete(port, "chat")["choices"]
    assert engines(steward)["chat"] == before["chat"]
    assert not steward.status()["converged"]
    why = steward.instance("chat")["why"]
    assert "pulling" in why or "downloading" in why
    registry.door.faults.clear()
    registry.door.open.set()
    steward.converged()
    assert engines(steward)["chat"] != before["chat"]


def test_git_16_other_architecture(steward: Steward, registry: Registry) -> None:
    """Given an image of another architecture, when an edit wants it, then it is told, and the old engine serves on."""
    port, repository = free_port(), f"steward-test-{uuid.uuid4().hex[:8]}"
    registry.door.faults.clear()
    registry.publish(repository, architecture="arm64", content=os.urandom(1000))
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    before = engines(steward)
    steward.write(Entry("chat", port, more=(f"image: '{registry.door.reference(repository)}'",)))
    until(lambda: "wrong platform" in waiting(steward, "pull"), "the wrong platform")
    assert steward.complete(port, "chat")["choices"]
    steward.write(Entry("chat", port))
    steward.converged()
    assert engines(steward) == before
    assert "create" not in [e["message"] for e in steward.events() if e["kind"] == "ActionStarted"][3:]
    assert "PassFailed" not in kinds(steward)
