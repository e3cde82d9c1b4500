"""The main job on a real Docker engine: the estate is edited, containers follow."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.docker.harness import Entry, Steward, free_port, until

pytestmark = pytest.mark.docker


def test_boot_port_move_replace_and_prune(steward: Steward) -> None:
    """Given two engines, when one moves its port and a third comes and goes, then the neighbour never changes."""
    chat, embed, moved, third = (free_port() for _ in range(4))
    steward.write(Entry("chat", chat), Entry("embed", embed))
    steward.start()
    steward.converged()
    neighbour, old = steward.only("embed"), steward.only("chat")
    assert steward.complete(chat, "chat")["choices"]

    steward.write(Entry("chat", moved), Entry("embed", embed), Entry("extra", third))
    steward.converged()
    assert steward.complete(moved, "chat")["choices"]
    with pytest.raises(OSError, match="refused"):
        steward.complete(chat, "chat")
    assert steward.only("chat").id != old.id
    old.reload()
    assert old.status == "exited"

    steward.write(Entry("chat", moved), Entry("embed", embed))
    steward.converged()
    assert steward.containers("extra") == []
    assert steward.only("embed").id == neighbour.id


def test_labels_and_host_config_of_a_container(steward: Steward) -> None:
    """Given a converged engine, when its container is inspected, then labels, name, init, policy and log limits are set."""
    port = free_port()
    steward.write(Entry("chat", port))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    container = steward.only("chat")
    labels, host = container.labels, container.attrs["HostConfig"]
    assert labels["steward.instance"] == "chat"
    assert labels["steward.generation"] == "1"
    assert labels["steward.image-id"].startswith("sha256:")
    assert container.name == f"{steward.rig}.chat-{labels['steward.spec-hash'][:8]}-1"
    assert host["Init"] is True
    assert host["RestartPolicy"]["Name"] == "no"
    assert set(host["LogConfig"]["Config"]) == {"max-size", "max-file"}
    assert host["PortBindings"] == {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(port)}]}


def test_drain_lets_a_running_request_finish(steward: Steward) -> None:
    """Given a slow completion under way, when its engine is edited, then it finishes before the old container stops."""
    port = free_port()
    # the last bytes of an answer still have to pass Docker's proxy after the engine has sent them
    patient = ("drain: {idle_for: 2s, limit: 20s, term: 5s}",)
    steward.write(Entry("chat", port, args=("--sim-tps", "20"), more=patient))
    steward.start()
    steward.converged()
    answers: list[Any] = []
    request = threading.Thread(target=lambda: answers.append(steward.complete(port, "chat", tokens=80, timeout_s=60)))
    request.start()
    until(lambda: steward.running_requests("chat") == 1, "the request to be seen running")
    steward.write(Entry("chat", port, args=("--sim-tps", "40"), more=patient))
    steward.converged()
    request.join(30)
    assert answers[0]["usage"]["completion_tokens"] == 80
    stop = next(e for e in steward.events() if e["message"] == "stop")
    assert "extra_args" in stop["cause"]


def test_an_engine_that_outlives_the_drain_limit_is_stopped(steward: Steward) -> None:
    """Given a completion that never ends, when the drain limit has passed, then the engine is stopped and replaced."""
    port = free_port()
    limited = ("drain: {limit: 2s, term: 1s}",)
    steward.write(Entry("chat", port, args=("--sim-tps", "1", "--sim-ignore-term"), more=limited))
    steward.start()
    steward.ready("chat")
    old = steward.only("chat")
    request = threading.Thread(target=_swallow, args=(steward, port))
    request.start()
    until(lambda: steward.running_requests("chat") == 1, "the request to be seen running")
    steward.write(Entry("chat", port, args=("--sim-tps", "50"), more=limited))
    steward.converged()
    old.reload()
    assert old.attrs["State"]["ExitCode"] == 137
    request.join(30)


def _swallow(steward: Steward, port: int) -> None:
    try:
        steward.complete(port, "chat", tokens=500, timeout_s=60)
    except OSError:
        return


def test_a_kept_container_is_started_again_for_its_spec(steward: Steward) -> None:
    """Given an edit that was carried out, when it is taken back, then the kept container runs again."""
    first, second = free_port(), free_port()
    steward.write(Entry("chat", first))
    steward.start()
    steward.converged()
    original = steward.only("chat")
    steward.write(Entry("chat", second))
    steward.converged()
    steward.write(Entry("chat", first))
    steward.converged()
    assert steward.only("chat").id == original.id


def test_removing_everything_is_refused_until_confirmed(steward: Steward) -> None:
    """Given two running engines, when the estate becomes empty, then both serve on until allow_prune names them."""
    a, b = free_port(), free_port()
    steward.write(Entry("a", a), Entry("b", b))
    steward.start()
    steward.converged()
    steward.write()
    until(lambda: any(e["kind"] == "RevisionRefused" for e in steward.events()), "the refusal")
    assert len(steward.containers(running=True)) == 2
    assert any("allow_prune: [a, b]" in str(e) or "removes 2 of 2" in str(e) for e in steward.events())
    steward.write(more="allow_prune: [a, b]\n")
    steward.converged()
    assert steward.containers() == []


def test_state_stopped_depends_on_and_observe(steward: Steward) -> None:
    """Given stopped, dependent and observed instances, when they are applied, then each is as the file says."""
    a, b = free_port(), free_port()
    steward.write(Entry("a", a), rig="mode: observe")
    seen = steward.cli("plan", "--detailed-exitcode")
    assert seen.returncode == 2, seen.stderr
    assert "create" in seen.stdout
    watched = steward.cli("apply", "--timeout", "3s")
    assert watched.returncode == 1
    assert steward.containers() == []

    steward.write(Entry("b", b, more=("depends_on: [a]",)), Entry("a", a, args=("--sim-load-s", "1")))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    starts = {name: steward.only(name).attrs["State"]["StartedAt"] for name in "ab"}
    assert starts["a"] < starts["b"]

    steward.write(Entry("b", b, more=("depends_on: [a]", "state: stopped")), Entry("a", a, args=("--sim-load-s", "1")))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    assert steward.containers("b", running=True) == []
    assert len(steward.containers("b")) == 1


def test_stop_start_and_down_without_a_controller(steward: Steward) -> None:
    """Given a converged rig and no controller, when verbs are used, then they do what they say and end."""
    a, b = free_port(), free_port()
    steward.write(Entry("a", a), Entry("b", b))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    stopped = steward.cli("stop", "a", "--reason", "cleaning")
    assert stopped.returncode == 0, stopped.stderr
    assert [c.labels["steward.instance"] for c in steward.containers(running=True)] == ["b"]
    again = steward.cli("apply", "--timeout", "60s")
    assert "cleaning" in again.stdout
    assert steward.cli("start", "a").returncode == 0
    assert len(steward.containers(running=True)) == 2
    assert steward.cli("down").returncode == 0
    assert steward.containers(running=True) == []
    assert len(steward.containers()) == 2


def test_verbs_through_a_running_controller(steward: Steward) -> None:
    """Given `steward run`, when apply, wait, status, logs and events are used beside it, then they speak of the same rig."""
    port = free_port()
    steward.write(Entry("chat", port))
    steward.start()
    assert steward.cli("wait", "chat", "--timeout", "60s").returncode == 0
    applied = steward.cli("apply", "--timeout", "60s")
    assert applied.returncode == 0, applied.stderr
    status = steward.cli("status", "-v")
    assert status.returncode == 0
    assert f"http://127.0.0.1:{port}" in status.stdout
    assert "loading model: 100 %" in steward.cli("logs", "chat").stdout
    assert "InstanceReady" in steward.cli("events", "--output", "json").stdout
    assert steward.cli("stop", "chat").returncode == 0
    until(lambda: not steward.containers(running=True), "the stop")
    assert steward.stop() == 0


def test_terminating_the_controller_leaves_engines_running(steward: Steward) -> None:
    """Given a converged rig, when `steward run` is told to end, then it ends with 0 and the engine serves on."""
    port = free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    assert steward.stop() == 0
    assert steward.complete(port, "chat")["choices"]


def test_a_secret_reaches_the_engine_and_nothing_else(steward: Steward) -> None:
    """Given an api key by secret, when the engine boots, then requests need it and no file, label, log or API shows it."""
    port, value = free_port(), "s3cret-value-4711"
    folder = steward.state / "secrets"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "KEY").write_text(value + "\n")
    (folder / "KEY").chmod(0o600)
    steward.write(Entry("chat", port, set={"api_key": {"secret": "KEY"}}))
    steward.start()
    steward.ready("chat")
    with pytest.raises(OSError, match="401"):
        steward.complete(port, "chat")
    told = [str(steward.get(f"/api/v1/{page}")) for page in ("status", "plan", "events")]
    told += [steward.log(), str(steward.only("chat").labels)]
    told += [path.read_bytes().decode("latin-1") for path in steward.state.glob("steward.db*")]
    assert not any(value in text for text in told)
