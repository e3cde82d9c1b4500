"""Overlays on a real Docker engine, with payloads of a user's own on the simulated engine's image."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.docker.engine import DockerEngine
from controller.errors import EnvironmentFault, NotFound
from controller.model.reading import Known
from controller.settings import Bounds
from tests.docker.harness import Entry, Steward, free_port, until

pytestmark = pytest.mark.docker

TARGET = "/opt/steward/controller/__init__.py"
"""A file of the image that the overlays of these tests change."""
SCRIPT = """\
grep -q '{anchor}' {target} || {{ echo "missing anchor: {anchor} in {target}" >&2; exit 3; }}
grep -q '# patched' {target} || echo '# patched' >>{target}
"""


def record(steward: Steward, *, sentinel: str | None = "# patched", more: str = "") -> None:
    """An overlay `fix` of the user's own, whose script changes TARGET."""
    folder = steward.folder / "overlays"
    folder.mkdir(exist_ok=True)
    (folder / "fix.yml").write_text(
        "id: fix\ntitle: A fix of our own\nmechanism: install_script\n"
        "source: {dir: {files: [{path: fix.sh}]}}\n"
        "upstream: none\nupstream_reason: it is ours\n"
        f"target_files: [{TARGET}]\nsentinel: {'null' if sentinel is None else repr(sentinel)}\n"
        f"steps: [{{run: [sh, /etc/steward/overlays/fix/fix.sh]}}]\n{more}"
    )


def script(steward: Steward, text: str) -> None:
    """The overlay's script."""
    path = steward.folder / "overlays" / "fix" / "fix.sh"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def condition(steward: Steward, name: str, kind: str) -> Any:
    """A condition of an instance."""
    return next((c for c in steward.instance(name)["conditions"] if c["type"] == kind), None)


def test_an_overlay_is_put_on_and_seen_at_work(steward: Steward) -> None:
    """Given an install step of one's own, when the engine is ready, then it has run and its sentinel was found, once."""
    record(steward)
    script(steward, SCRIPT.format(anchor="Imports go one way", target=TARGET))
    steward.write(Entry("chat", free_port(), more=("overlays: [fix]",)))
    steward.start()
    steward.ready("chat")
    found = until(lambda: (c := condition(steward, "chat", "OverlayUnverified"))["reason"] == "Found" and c, "the look")
    assert found["status"] == "False"
    container = steward.only("chat")
    assert container.exec_run(["sh", "-c", f"tail -n1 {TARGET}"]).output == b"# patched\n"
    assert "steward: overlay fix: sh" in container.logs().decode()
    (mounted,) = (m for m in container.attrs["Mounts"] if m["Destination"].endswith("/fix.sh"))
    assert mounted["RW"] is False
    assert stat.S_IMODE(Path(mounted["Source"]).stat().st_mode) == 0o444
    assert steward.complete(steward.instance("chat")["port"], "chat")["choices"]


def test_a_step_without_its_anchor_stops_the_engine_with_the_overlays_name(steward: Steward) -> None:
    """Given a script whose anchor the image lacks, when applied, then the engine does not start, and it is said why."""
    record(steward)
    script(steward, SCRIPT.format(anchor="no such line", target=TARGET))
    steward.write(Entry("chat", free_port(), more=("overlays: [fix]",)))
    applied = steward.cli("apply", "--timeout", "60s")
    assert applied.returncode == 1
    assert (
        "OverlayFailed: overlay fix cannot be put on: its step ended with code 3; missing anchor: no such line"
        in applied.stdout
    )
    (left,) = steward.containers("chat")
    assert left.attrs["State"]["ExitCode"] == 78
    assert "POST" not in left.logs().decode()


def test_a_missing_sentinel_is_shown_and_stops_nothing(steward: Steward) -> None:
    """Given a step that changes nothing, when the engine is ready, then OverlayUnverified names the overlay and it serves."""
    record(steward)
    script(steward, "true\n")
    port = free_port()
    steward.write(Entry("chat", port, more=("overlays: [fix]",)))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    shown = steward.cli("status").stdout
    assert "why: OverlayUnverified: overlay fix is not at work: `# patched` is in none of its files" in shown
    assert steward.complete(port, "chat")["choices"]
    assert "SentinelMissing" in steward.cli("status", "-v").stdout


def test_without_a_sentinel_nothing_can_be_said(steward: Steward) -> None:
    """Given an overlay without a sentinel, when the engine is ready, then the condition says so and the row stays fine."""
    record(steward, sentinel=None)
    script(steward, "true\n")
    steward.write(Entry("chat", free_port(), more=("overlays: [fix]",)))
    steward.start()
    steward.ready("chat")
    unverified = condition(steward, "chat", "OverlayUnverified")
    assert (unverified["status"], unverified["reason"]) == ("True", "NoSentinel")
    assert "why:" not in steward.cli("status").stdout


def test_a_kept_container_starts_again_after_its_overlay_has_changed(steward: Steward) -> None:
    """Given a replaced container, when its overlay's source is another by now, then it starts with what it was made with."""
    record(steward)
    script(steward, SCRIPT.format(anchor="Imports go one way", target=TARGET))
    steward.write(Entry("chat", free_port(), more=("overlays: [fix]",)))
    steward.start()
    steward.converged()
    old = steward.only("chat")
    script(steward, SCRIPT.format(anchor="Imports go one way", target=TARGET) + "echo second\n")
    steward.converged()
    new = steward.only("chat")
    assert new.id != old.id
    assert "second" in new.logs().decode()
    steward.stop()
    new.stop(timeout=2)
    old.start()
    until(lambda: b"listening" in old.logs(tail=20) or b"ready" in old.logs(tail=20), lambda: old.logs().decode())
    assert "second" not in old.logs().decode()


def test_files_that_nobody_has_are_waited_for_before_anything_stops(steward: Steward) -> None:
    """Given a serving engine, when an edit puts on an overlay that was not fetched, then it serves on and says what to do."""
    port = free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    old = steward.only("chat")
    record(steward)
    (steward.folder / "overlays" / "fix.yml").write_text(
        "id: fix\ntitle: A fix\nmechanism: file_mounts\nupstream: none\nupstream_reason: it is ours\n"
        f"source: {{git: {{url: 'file://{steward.folder}/no.git', commit: '{'a' * 40}',\n"
        f"  files: [{{path: fix.py, target: {TARGET}, sha256: '{'b' * 64}'}}]}}}}\n"
    )
    steward.write(Entry("chat", port, more=("overlays: [fix]",)))
    missing = until(lambda: condition(steward, "chat", "OverlayPayloadMissing"), "the condition")
    assert missing["status"] == "True"
    assert "steward overlays fetch fix" in missing["message"]
    assert "steward overlays fetch fix" in steward.cli("validate").stdout
    waiting = [s for s in steward.get("/api/v1/plan")["steps"] if s["action"] == "pull"]
    assert "steward overlays fetch fix" in waiting[0]["waiting_for"]
    assert steward.only("chat").id == old.id
    assert steward.complete(port, "chat")["choices"]


def test_texts_are_looked_for_in_files_and_folders(steward: Steward, docker_host: str) -> None:
    """Given a running container, when texts are looked for, then its files tell, and a missing file holds none."""
    steward.write(Entry("chat", free_port()))
    assert steward.cli("apply", "--timeout", "60s").returncode == 0
    container, engine = steward.only("chat"), DockerEngine(docker_host, Bounds())
    name = str(container.id)
    text = "Imports go one way"
    assert engine.find_text(name, text, ["/no/such/file", TARGET]) == Known(True)
    assert engine.find_text(name, text, ["/opt/steward"]) == Known(True)
    assert engine.find_text(name, "-e [no pattern] but text", ["/opt/steward", TARGET]) == Known(False)
    assert engine.find_text(name, text, ["/no/such/file"]) == Known(False)
    container.stop(timeout=1)
    with pytest.raises(EnvironmentFault):
        engine.find_text(name, text, [TARGET])
    container.remove()
    with pytest.raises(NotFound):
        engine.find_text(name, text, [TARGET])
