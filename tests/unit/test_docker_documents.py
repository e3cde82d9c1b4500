"""The engine's documents in both directions: what is asked of create, and what is read from list, inspection and events."""

from __future__ import annotations

from typing import Any

import pytest

from controller.adapters.docker.create import container_document, environment
from controller.adapters.docker.events import last_signal
from controller.adapters.docker.read import container_of, image_of, state_of, summary_of, unix_of
from controller.model.identity import Identity
from controller.model.observed import ContainerState, HandSignal
from controller.model.plan import CreateRequest
from controller.model.resolved import ContainerSpec, Mount, Ulimit

ID = "c" * 64
IDENTITY = Identity("rig", "chat", "0123456789abcdef", 2, revision="abc", gpus=("GPU-1",), image_id="sha256:1")
PLAIN = ContainerSpec(image="x:1", argv=("serve",), port=8010, container_port=8000)


def document(spec: ContainerSpec, **more: Any) -> dict[str, Any]:
    """The create body for a spec."""
    request = CreateRequest(IDENTITY, "chat-01234567-2", spec, **more)
    return container_document(request, {}, [str(word) for word in spec.argv], more.get("image_id", ""), "1.41")


def test_every_container_gets_what_steward_insists_on() -> None:
    """Labels, an init, no restart policy, bounded logs, no health check of the image."""
    body = document(PLAIN)
    host = body["HostConfig"]
    assert body["Labels"] == IDENTITY.labels()
    assert (host["Init"], host["RestartPolicy"]) == (True, {"Name": "no"})
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "20m", "max-file": "3"}}
    assert body["Healthcheck"]["Test"] == ["NONE"]
    assert host["PortBindings"] == {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8010"}]}
    assert body["ExposedPorts"] == {"8000/tcp": {}}


def test_the_image_s_own_words_are_used_where_the_spec_has_none() -> None:
    """An absent entrypoint or command is not an empty one."""
    assert "Entrypoint" not in document(PLAIN)
    assert "Cmd" not in document(ContainerSpec(image="x:1", argv=(), port=1, container_port=1))
    cleared = document(ContainerSpec(image="x:1", argv=("a",), port=1, container_port=1, entrypoint=()))
    assert cleared["Entrypoint"] == []


def test_a_pinned_image_id_wins_over_the_reference() -> None:
    """Create runs what was tested, not what the tag means today."""
    assert document(PLAIN)["Image"] == "x:1"
    assert document(PLAIN, image_id="sha256:42")["Image"] == "sha256:42"


def test_cards_are_asked_for_by_uuid() -> None:
    """One device request in the instance's order; inside, plain indices in bus order."""
    spec = ContainerSpec(image="x:1", argv=(), port=1, container_port=1, gpus=("GPU-2", "GPU-1"))
    requests = document(spec)["HostConfig"]["DeviceRequests"]
    assert [(r["Driver"], r["DeviceIDs"], r["Capabilities"]) for r in requests] == [("nvidia", ["GPU-2", "GPU-1"], [["gpu"]])]
    assert environment(spec, {}) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert environment(spec, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}) == {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}


def test_an_instance_without_cards_sees_none() -> None:
    """CUDA images ask for all cards by a variable of their own, which a host with the nvidia runtime as default obeys."""
    assert "DeviceRequests" not in document(PLAIN)["HostConfig"]
    assert environment(PLAIN, {"A": "b"}) == {"NVIDIA_VISIBLE_DEVICES": "void", "A": "b"}


def test_only_the_engine_cache_may_be_made_by_the_engine() -> None:
    """Its folder is one per image; every other mount must exist, so it goes in the form that the engine checks."""
    spec = ContainerSpec(
        image="x:1",
        argv=(),
        port=1,
        container_port=1,
        mounts=(
            Mount("/srv/models", "/models", read_only=True),
            Mount("${STEWARD_ENGINE_CACHE}/torch", "/root/.cache/torch"),
        ),
    )
    host = document(spec, image_id="sha256:0123456789abcdef", engine_cache_root="/srv/engine-cache/")["HostConfig"]
    assert host["Binds"] == ["/srv/engine-cache/0123456789ab/torch:/root/.cache/torch:rw"]
    assert host["Mounts"] == [{"Target": "/models", "Source": "/srv/models", "Type": "bind", "ReadOnly": True}]


def test_every_other_key_of_a_spec_reaches_the_engine() -> None:
    """Nothing that a user wrote is dropped on the way."""
    spec = ContainerSpec(
        image="x:1",
        argv=("a",),
        port=8010,
        container_port=80,
        bind="0.0.0.0",
        entrypoint=("/run",),
        shm_bytes=1 << 30,
        ipc="host",
        user="1000:1000",
        ulimits=(Ulimit("memlock", -1, -1),),
        cap_add=("SYS_NICE",),
        cap_drop=("NET_RAW",),
        devices=("/dev/kfd:/dev/kfd:rw", "/dev/dri"),
        tmpfs=("/tmp:size=64m,mode=1777", "/run"),
        working_dir="/w",
        extra_hosts=("db:10.0.0.1",),
        security_opt=("seccomp=unconfined",),
        read_only=True,
        mem_limit_bytes=1 << 31,
        cpus=1.5,
    )
    body = document(spec)
    host = body["HostConfig"]
    assert (body["Entrypoint"], body["Cmd"], body["User"], body["WorkingDir"]) == (["/run"], ["a"], "1000:1000", "/w")
    assert host["PortBindings"] == {"80/tcp": [{"HostIp": "0.0.0.0", "HostPort": "8010"}]}
    assert (host["ShmSize"], host["IpcMode"], host["Memory"], host["NanoCpus"]) == (1 << 30, "host", 1 << 31, 1_500_000_000)
    assert host["Ulimits"] == [{"Name": "memlock", "Soft": -1, "Hard": -1}]
    assert (host["CapAdd"], host["CapDrop"]) == (["SYS_NICE"], ["NET_RAW"])
    assert [(d["PathOnHost"], d["PathInContainer"], d["CgroupPermissions"]) for d in host["Devices"]] == [
        ("/dev/kfd", "/dev/kfd", "rw"),
        ("/dev/dri", "/dev/dri", "rwm"),
    ]
    assert host["Tmpfs"] == {"/tmp": "size=64m,mode=1777", "/run": ""}
    assert (host["ExtraHosts"], host["SecurityOpt"]) == (["db:10.0.0.1"], ["seccomp=unconfined"])
    assert host["ReadonlyRootfs"] is True


def test_a_foreign_summary_survives_sparse_items() -> None:
    """Old engines and half-removed containers leave fields out."""
    found = summary_of({"Id": ID, "Names": ["/web/alias", "/db"], "State": "running", "Ports": [{"PrivatePort": 80}]})
    assert (found.name, found.host_ports, found.created_at, found.identity) == ("db", (), None, None)
    assert summary_of({"Id": ID, "Names": None, "State": "removing"}).name == ""


def test_both_families_of_one_port_count_once() -> None:
    """Docker lists IPv4 and IPv6 bindings of a port separately."""
    ports = [{"PublicPort": 8010, "IP": "0.0.0.0"}, {"PublicPort": 8010, "IP": "::"}, {"PublicPort": 9000}]
    assert summary_of({"Id": ID, "Names": ["/x"], "State": "running", "Ports": ports}).host_ports == (8010, 9000)


def test_a_state_that_a_later_engine_invents_is_never_removed() -> None:
    """Unknown words count as running."""
    assert state_of("hibernating") is ContainerState.RUNNING
    assert state_of("dead") is ContainerState.DEAD


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0001-01-01T00:00:00Z", None),
        ("", None),
        (None, None),
        ("2026-11-30T07:28:07.926590919Z", 1796023687.92659),
        ("2026-11-30T08:28:07+01:00", 1796023687.0),
    ],
)
def test_times_are_read_as_docker_writes_them(text: str | None, seconds: float | None) -> None:
    """Nanoseconds, zones, and the year 1 for never."""
    assert unix_of(text) == (None if seconds is None else pytest.approx(seconds, abs=1e-5))


def test_an_inspection_with_nulls_is_read() -> None:
    """Engines write null for what is empty."""
    found = container_of(
        {"Id": ID, "Name": "/x", "State": {"Status": "created", "Error": "no"}, "Config": None, "HostConfig": None}
    )
    assert (found.name, found.error, found.restart_policy, found.host_ports) == ("x", "no", "no", ())
    image = image_of({"Id": "sha256:1", "RepoTags": None, "RepoDigests": None, "Config": {"Entrypoint": None, "Cmd": ["a"]}})
    assert (image.tags, image.entrypoint, image.command) == ((), (), ("a",))


def events(*actions: str) -> list[dict[str, Any]]:
    """Events one second apart; `kill/9` carries a signal, `die+60` comes so many seconds later."""
    made, at = [], 100.0
    for text in actions:
        action, _, signal = text.partition("/")
        action, _, later = action.partition("+")
        at += float(later or 1)
        made.append(
            {"Action": action, "timeNano": int(at * 1e9), "Actor": {"Attributes": {"signal": signal} if signal else {}}}
        )
    return made


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (("start", "die"), None),
        (("start", "oom", "die"), None),
        (("start", "kill/9", "die"), ("kill", 102.0)),
        (("start", "kill/15", "die", "stop"), ("stop", 104.0)),
        (("start", "kill/15", "kill/9", "die", "stop"), ("stop", 105.0)),
        (("start", "kill/15"), ("kill", 102.0)),
        (("start", "kill/1"), None),
        (("start", "kill/1", "die"), ("kill", 102.0)),
        (("start", "kill/1", "die+60"), None),
        (("start", "kill/SIGTERM", "die+60"), ("kill", 102.0)),
        (("start", "kill/9", "die", "start", "die"), None),
        (("start", "die", "start", "kill/9", "die"), ("kill", 104.0)),
        ((), None),
    ],
)
def test_blame_follows_the_order_of_events(actions: tuple[str, ...], expected: tuple[str, float] | None) -> None:
    """Recorded from a real engine: kill, stop with and without patience, reload signals, crashes, restarts."""
    wanted = None if expected is None else HandSignal(ID, *expected)
    assert last_signal(ID, events(*actions)) == wanted
