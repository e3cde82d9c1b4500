"""Boots and engines that fail, and hands that meddle, on a real Docker engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from docker.models.containers import Container

from tests.docker.harness import Entry, Steward, free_port, until

pytestmark = pytest.mark.docker


def test_a_boot_that_ends_is_left_stopped_with_its_reason(steward: Steward) -> None:
    """Given an engine that exits while loading, when it is applied, then it is Stalled with the engine's words, tried once."""
    port = free_port()
    words = "RuntimeError: the weights are of another world"
    args = ("--sim-load-s", "30", "--sim-exits-s", "0.3", "--sim-exit-code", "3", "--sim-exit-log", words)
    steward.write(Entry("chat", port, args=args))
    applied = steward.cli("apply", "--timeout", "60s")
    assert applied.returncode == 1
    assert words in applied.stdout
    (left,) = steward.containers("chat")
    assert left.status == "exited"
    assert steward.cli("apply", "--timeout", "10s").returncode == 1
    assert len(steward.containers("chat")) == 1
    left.reload()
    assert left.attrs["State"]["StartedAt"] == steward.containers("chat")[0].attrs["State"]["StartedAt"]


def test_a_boot_that_stands_still_is_stopped_and_start_tries_again(steward: Steward) -> None:
    """Given an engine that stops moving at half its load, when boot.stall passes, then it is stopped; `start` boots it anew."""
    port = free_port()
    steward.write(Entry("chat", port, args=("--sim-load-s", "1", "--sim-stall-s", "0.5"), more=("boot: {stall: 3s}",)))
    steward.start()
    stalled = until(lambda: (i := steward.instance("chat")) and i["state"] == "Stalled" and i, "Stalled")
    condition = next(c for c in stalled["conditions"] if c["type"] == "Stalled")
    assert condition["reason"] == "BootStalled"
    until(lambda: not steward.containers(running=True), "the stop of the stalled boot")
    begun = steward.containers("chat")[0].attrs["State"]["StartedAt"]
    assert steward.cli("start", "chat").returncode == 0
    until(lambda: steward.containers("chat")[0].attrs["State"]["StartedAt"] != begun, "the second boot")
    steward.write(Entry("chat", port))
    steward.ready("chat")


def test_an_engine_that_dies_after_ready_is_started_again(steward: Steward) -> None:
    """Given a ready engine that ends with code 0, when the pause has passed, then the same container runs again."""
    port = free_port()
    args = ("--sim-exits-s", "4", "--sim-exit-code", "0", "--sim-exit-log", "EngineDeadError")
    steward.write(Entry("chat", port, args=args))
    steward.start()
    steward.ready("chat")
    before = steward.only("chat")
    until(lambda: any(e["kind"] == "EngineExited" for e in steward.events()), "the exit to be noticed")
    steward.ready("chat")
    assert steward.only("chat").id == before.id
    assert steward.instance("chat")["restarts"] >= 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: c.stop(timeout=2), id="stop"),
        pytest.param(lambda c: c.kill(), id="kill"),
        pytest.param(lambda c: c.pause(), id="pause"),
        pytest.param(lambda c: c.rename("somebody-elses-idea"), id="rename"),
        pytest.param(lambda c: c.remove(force=True), id="remove"),
        pytest.param(lambda c: c.update(restart_policy={"Name": "always"}), id="policy"),
    ],
)
def test_drift_by_hand_is_corrected(steward: Steward, change: Callable[[Container], object]) -> None:
    """Given a ready engine and a neighbour, when a hand changes its container, then it is put right and the neighbour stays."""
    port, other = free_port(), free_port()
    steward.write(Entry("chat", port), Entry("embed", other))
    steward.start()
    steward.converged()
    ours, neighbour = steward.only("chat"), steward.only("embed")
    name = ours.name
    change(ours)
    until(lambda: not steward.status()["converged"], "the drift to be noticed")
    steward.converged()
    after = steward.only("chat")
    assert after.status == "running"
    assert after.attrs["HostConfig"]["RestartPolicy"]["Name"] == "no"
    assert after.name == name or after.id != ours.id
    assert steward.only("embed").id == neighbour.id
    assert not any(i["state"] == "Stalled" for i in steward.status()["instances"])


def test_a_hands_stop_is_not_a_crash(steward: Steward) -> None:
    """Given a ready engine, when it is stopped by hand, then it comes back without a restart being counted."""
    steward.write(Entry("chat", free_port()))
    steward.start()
    steward.converged()
    steward.only("chat").stop(timeout=2)
    until(lambda: not steward.status()["converged"], "the stop to be noticed")
    steward.converged()
    assert steward.instance("chat")["restarts"] == 0
    assert not any(e["kind"] == "EngineExited" for e in steward.events())


def test_a_failed_pull_leaves_the_old_engine_serving(steward: Steward) -> None:
    """Given a serving engine, when an edit wants an image that no registry has, then the old one serves and it is said why."""
    port, nobody = free_port(), free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    old = steward.only("chat")
    steward.write(Entry("chat", port, more=(f"image: '127.0.0.1:{nobody}/no/such:1'",)))
    until(lambda: any(e["kind"] == "ActionWaits" and "pull" in e["message"] for e in steward.events()), "the failed pull")
    assert steward.complete(port, "chat")["choices"]
    assert steward.only("chat").id == old.id
    waiting = [s for s in steward.get("/api/v1/plan")["steps"] if s["action"] == "pull"]
    assert waiting
    assert steward.instance("chat")["ready"]


def test_a_mount_that_docker_refuses_stalls_and_stops_nothing(steward: Steward) -> None:
    """Given a serving engine, when an edit wants a device that is not there, then the refusal is told in Docker's words."""
    port = free_port()
    composes = steward.folder / "composes" / "mine"
    composes.mkdir(parents=True)
    text = "x-steward: {engine: simulated}\nservices: {engine: {devices: ['/dev/no-such-device']}}\n"
    (composes / "device.yml").write_text(text)
    steward.write(Entry("chat", port, compose="mine/device"))
    applied = steward.cli("apply", "--timeout", "30s")
    assert applied.returncode == 1
    assert "no-such-device" in applied.stdout
