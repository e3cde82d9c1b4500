"""Serving while something is wrong: an edit that cannot be accepted (srv-22), a port that is held (srv-29)."""

from __future__ import annotations

import os
import urllib.request
from contextlib import closing

import pytest

from tests.docker.harness import Entry, Steward, free_port, until
from tests.scenarios.looking import engines, kinds, listener, newest, refused, throughout, waiting

pytestmark = pytest.mark.docker


def metric(steward: Steward, name: str) -> float:
    """A sample of the exporter, for the whole rig or an instance `NAME{...}`."""
    with urllib.request.urlopen(f"http://127.0.0.1:{steward.listen}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    found = [line for line in lines if line.startswith((f"{name}{{", f"{name} "))]
    assert len(found) == 1, found
    return float(found[0].rpartition(" ")[2])


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [("yaml", "env: {A: b"), ("schema", "potr: 1"), ("E4", "port: {port}"), ("E1", "gpus: [0, 0]")],
)
def test_srv_22_invalid_commit(steward: Steward, rule: str, wrong: str) -> None:
    """Given a serving engine, when a bad edit comes, then the old generation serves, and event, status and metric say so."""
    port = free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    before, mark = engines(steward), newest(steward)
    assert metric(steward, "steward_config_accepted") == 1.0
    wrong = wrong.replace("{port}", str(port))
    more = () if rule == "E4" else (wrong,)
    edited = Entry("chat", port, args=("--sim-tps", "99"))
    text = steward.text(edited, Entry("embed", port if rule == "E4" else free_port(), more=more))
    place = f"estate.yml:{text[: text.rindex(wrong)].count(chr(10)) + 1}:"
    steward.save(text)
    refused(steward, place)
    assert steward.complete(port, "chat")["choices"]
    throughout(1.0, lambda: engines(steward) == before, "an engine was touched")
    (event,) = [e for e in steward.events() if e["sequence"] > mark]
    assert (event["kind"], event["level"]) == ("RevisionRefused", "error")
    assert place in event["message"]
    assert f"[{rule}]" in event["message"]
    assert metric(steward, "steward_config_accepted") == 0.0
    assert metric(steward, "steward_instance_ready") == 1.0
    steward.write(edited)
    steward.converged()
    assert metric(steward, "steward_config_accepted") == 1.0
    assert engines(steward) != before


def test_srv_29_port_taken_at_the_first_boot(steward: Steward) -> None:
    """Given a program on the port of a new instance, when planned and run, then it is named and no container loops."""
    port, other = free_port(), free_port()
    steward.write(Entry("chat", port), Entry("embed", other))
    with closing(listener("127.0.0.1", port)):
        planned = steward.cli("plan", "--detailed-exitcode")
        assert planned.returncode == 2
        assert f"port {port} is held by pid {os.getpid()} (" in planned.stdout
        steward.start()
        steward.ready("embed")
        until(lambda: waiting(steward, "start"), "the start to wait")
        assert f"pid {os.getpid()}" in steward.instance("chat")["why"]
        throughout(2.0, lambda: "chat" not in engines(steward), "it was started on a port that is held")
        starts = [e for e in steward.events() if (e["kind"], e["instance"], e["message"]) == ("ActionStarted", "chat", "start")]
        assert starts == []
        chat = steward.instance("chat")
        assert not chat["ready"]
        assert chat["state"] in ("Pending", "Preparing")
        assert not steward.status()["converged"]
    steward.converged()
    assert steward.complete(port, "chat")["choices"]
    assert "BootFailed" not in kinds(steward)
