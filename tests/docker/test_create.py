"""What a real engine makes of a create: the container is what the spec says, inside and out."""

from __future__ import annotations

import threading
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.errors import EnvironmentFault, SpecFault
from controller.model.identity import Identity
from controller.model.plan import CreateRequest
from controller.model.resolved import ContainerSpec, Mount, Ulimit
from tests.contract.http_servers import free_port
from tests.docker_fixtures import DockerRig, eventually

pytestmark = pytest.mark.docker


def request(rig: DockerRig, *shell: str, **spec: Any) -> CreateRequest:
    """A request that runs a shell command."""
    wanted = ContainerSpec(image=rig.image, argv=("sh", "-c", "; ".join(shell)), port=free_port(), container_port=8000, **spec)
    identity = Identity(rig.name, "one", "0123456789abcdef", 1)
    return CreateRequest(identity, identity.container_name(), wanted)


def run(rig: DockerRig, wanted: CreateRequest, env: dict[str, str] | None = None) -> tuple[str, tuple[str, ...]]:
    """Create, start and wait for the end: the id and what it printed."""
    made = rig.engine.create(wanted, env or {}, [str(word) for word in wanted.spec.argv])
    rig.engine.start(made)
    eventually(lambda: not next(found for found in rig.engine.list() if found.id == made).running)
    return made, rig.engine.tail(made, 50).lines


def test_the_process_gets_what_the_spec_says(docker_rig: DockerRig, tmp_path: Path) -> None:
    """Environment, folder, mounts, limits and file systems, seen from within."""
    (tmp_path / "weights").write_text("here\n")
    wanted = request(
        docker_rig,
        "echo $GREETING",
        "cat /models/weights",
        "cat /models/new 2>&1 >/models/new || echo read-only",
        "ulimit -n",
        "cat /proc/self/cwd/hostname",
        "echo $NVIDIA_VISIBLE_DEVICES",
        mounts=(Mount(str(tmp_path), "/models", read_only=True),),
        ulimits=(Ulimit("nofile", 777, 777),),
        working_dir="/etc",
        extra_hosts=("db:10.0.0.1",),
    )
    made, lines = run(docker_rig, wanted, {"GREETING": "hello $HOME"})
    assert lines[0] == "hello $HOME"
    assert "here" in lines
    assert "read-only" in lines
    assert "777" in lines
    assert "void" in lines
    document = docker_rig.api.inspect_container(made)
    assert document["HostConfig"]["ExtraHosts"] == ["db:10.0.0.1"]
    assert document["HostConfig"]["Init"] is True


def test_the_engine_cache_has_a_folder_per_image(docker_rig: DockerRig, tmp_path: Path) -> None:
    """The engine makes it; two images never share compiled kernels."""
    image = docker_rig.engine.inspect(docker_rig.image)
    assert image is not None
    wanted = request(docker_rig, "echo compiled >/cache/kernel", mounts=(Mount("${STEWARD_ENGINE_CACHE}", "/cache"),))
    run(docker_rig, replace(wanted, engine_cache_root=str(tmp_path / "cache")))
    folder = tmp_path / "cache" / image.id.removeprefix("sha256:")[:12]
    assert (folder / "kernel").read_text() == "compiled\n"


def test_a_missing_folder_is_waited_for_before_anything_is_made(docker_rig: DockerRig, tmp_path: Path) -> None:
    """An empty folder in place of the models would only fail later; a person may still make it, so the spec is not at fault."""
    wanted = request(docker_rig, "true", mounts=(Mount(str(tmp_path / "absent"), "/models"),))
    with pytest.raises(EnvironmentFault, match="absent"):
        docker_rig.engine.create(wanted, {}, ["sh"])
    assert not (tmp_path / "absent").exists()
    assert all(found.name != wanted.name for found in docker_rig.engine.list())


def test_cards_reach_the_process_by_uuid(docker_rig: DockerRig) -> None:
    """The engine's nvidia driver (a stand-in hook here) turns the device request into the variable that the runtime reads."""
    cards = ("GPU-5157e3a0-0000-4000-8000-000000000001", "GPU-5157e3a0-0000-4000-8000-000000000000")
    _, lines = run(docker_rig, request(docker_rig, "echo $NVIDIA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER", gpus=cards))
    assert lines == (f"{','.join(cards)} PCI_BUS_ID",)


def test_an_unknown_command_ends_at_once_and_says_so(docker_rig: DockerRig) -> None:
    """Under the init, start succeeds and the container ends with 127; its log says what was not found."""
    wanted = request(docker_rig, "true", entrypoint=("/no/such/program",))
    made = docker_rig.engine.create(wanted, {}, ["sh"])
    docker_rig.engine.start(made)
    ended = eventually(lambda: next((c for c in docker_rig.engine.list() if c.id == made and not c.running), None))
    assert ended.exit_code == 127
    assert any("No such file" in line for line in docker_rig.engine.tail(made, 5).lines)


def test_a_user_that_is_not_there_is_the_spec_s_fault(docker_rig: DockerRig) -> None:
    """The engine learns of it at start and answers 500, which is not an engine in trouble."""
    made = docker_rig.engine.create(request(docker_rig, "true", user="nosuchuser"), {}, ["sh"])
    with pytest.raises(SpecFault, match="nosuchuser"):
        docker_rig.engine.start(made)


def test_an_address_that_the_host_does_not_have_is_waited_for(docker_rig: DockerRig) -> None:
    """A LAN or VPN address may come up later."""
    made = docker_rig.engine.create(request(docker_rig, "true", bind="192.0.2.1"), {}, ["sh"])
    with pytest.raises(EnvironmentFault, match=r"192\.0\.2\.1"):
        docker_rig.engine.start(made)


def test_extra_networks_are_joined_under_the_instance_s_name(docker_rig: DockerRig) -> None:
    """Beside the default one, which publishes the port."""
    network = f"steward-test-{uuid.uuid4().hex[:8]}"
    docker_rig.api.create_network(network)
    docker_rig.later(lambda: docker_rig.api.remove_network(network))
    wanted = request(docker_rig, "true", networks=(network,))
    made = docker_rig.engine.create(wanted, {}, ["sh"])
    joined = docker_rig.api.inspect_container(made)["NetworkSettings"]["Networks"]
    assert sorted(joined) == ["bridge", network]
    assert "one" in joined[network]["Aliases"]
    docker_rig.engine.remove(made)


def test_a_network_that_went_after_create_is_waited_for(docker_rig: DockerRig) -> None:
    """The engine says 404 about the network; that is no word about the container."""
    network = f"steward-test-{uuid.uuid4().hex[:8]}"
    docker_rig.api.create_network(network)
    made = docker_rig.engine.create(request(docker_rig, "true", networks=(network,)), {}, ["sh"])
    docker_rig.api.remove_network(network)
    with pytest.raises(EnvironmentFault, match=network):
        docker_rig.engine.start(made)
    assert any(found.id == made for found in docker_rig.engine.list())


def test_anonymous_volumes_go_with_the_container(docker_rig: DockerRig) -> None:
    """Removed engines leave no gigabytes behind."""
    made = docker_rig.api.create_container(
        docker_rig.image, ["true"], volumes=["/data"], labels={"steward.rig": docker_rig.name}
    )["Id"]
    volume = docker_rig.api.inspect_container(made)["Mounts"][0]["Name"]
    docker_rig.engine.remove(made)
    listed = docker_rig.api.volumes()["Volumes"] or []
    assert volume not in [found["Name"] for found in listed]


def test_many_lanes_share_one_adapter(docker_rig: DockerRig) -> None:
    """Twelve threads create, start, stop and remove at once."""
    problems: list[BaseException] = []

    def lane(number: int) -> None:
        wanted = request(docker_rig, "exec sleep 60")
        identity = replace(wanted.identity, instance=f"lane{number}")
        wanted = replace(wanted, identity=identity, name=identity.container_name())
        try:
            made = docker_rig.engine.create(wanted, {}, [str(word) for word in wanted.spec.argv])
            docker_rig.engine.start(made)
            docker_rig.engine.list()
            docker_rig.engine.stop(made, 5)
            docker_rig.engine.remove(made)
        except EnvironmentFault as error:
            problems.append(error)

    threads = [threading.Thread(target=lane, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert problems == []
    assert all(found.identity is None or found.identity.rig != docker_rig.name for found in docker_rig.engine.list())
