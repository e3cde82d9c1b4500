"""One writer a rig (git-20, 21): the kernel's lock decides, whatever lies in the lock file, and other rigs are left alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from controller.settings import Settings
from controller.store.lock import lock_path
from tests.conftest import require
from tests.docker.harness import Entry, Steward, free_port, steward_on, until
from tests.scenarios.looking import condition, engines, refused, throughout

pytestmark = pytest.mark.docker


def lock_file(steward: Steward) -> Path:
    """The lock of this rig on this engine."""
    settings = Settings(steward.estate.parent, steward.state, steward.folder / "lock")
    return lock_path(settings, steward.engine.info()["ID"], steward.rig)


@pytest.fixture
def second(steward: Steward, docker_client: docker.DockerClient, tmp_path: Path) -> Iterator[Steward]:
    """Another Steward of the same machine: own estate, state and rig name, the same folder of locks."""
    folder = tmp_path / "second"
    folder.mkdir()
    with steward_on(docker_client, folder) as other:
        other.more_env["STEWARD_LOCK_DIR"] = str(steward.folder / "lock")
        yield other


def test_git_20_two_controllers_of_one_rig(steward: Steward, second: Steward) -> None:
    """Given a running controller, when others start for its rig, from its state folder or not, then they name it and end."""
    port = free_port()
    steward.write(Entry("chat", port))
    steward.start()
    steward.converged()
    before = engines(steward)
    assert steward.process is not None
    holder = f"pid {steward.process.pid}"
    second.rig = steward.rig
    second.write(Entry("chat", port, args=("--sim-tps", "99")))
    for other, verb in ((steward, "run"), (second, "run"), (second, "apply")):
        ended = other.cli(verb)
        assert ended.returncode == 3, ended.stderr
        assert holder in ended.stderr
        assert "Traceback" not in ended.stderr
    assert engines(steward) == before
    steward.stop()
    second.start()
    second.converged()
    assert engines(second) != before


def test_git_20_two_rigs_do_not_meet(steward: Steward, second: Steward) -> None:
    """Given two rigs with the same instance name, when both run, then each has its own engine; a port is never fought for."""
    ours, theirs = free_port(), free_port()
    steward.write(Entry("chat", ours))
    second.write(Entry("chat", theirs))
    steward.start()
    second.start()
    steward.converged()
    second.converged()
    before = engines(steward), engines(second)
    second.write(Entry("chat", ours))
    container = steward.only("chat")
    until(lambda: container.short_id in second.instance("chat")["why"], "the other rig's container to be named")
    throughout(2.0, lambda: (engines(steward), engines(second)) == before, "the rigs fight for the port")
    assert second.complete(theirs, "chat")["choices"]
    assert condition(second, "RigNameChanged")["status"] == "True"
    steward.write(Entry("chat", free_port()))
    steward.converged()
    second.converged()
    assert second.complete(ours, "chat")["choices"]


def test_git_20_a_rig_takes_no_name_that_another_one_has(steward: Steward, second: Steward) -> None:
    """Given two running rigs, when one is given the other's name, then that is refused and the holder is named."""
    ours, theirs = free_port(), free_port()
    steward.write(Entry("chat", ours))
    second.write(Entry("chat", theirs))
    steward.start()
    second.start()
    steward.converged()
    second.converged()
    before = engines(steward), engines(second)
    second.save(second.text(Entry("chat", theirs)).replace(second.rig, steward.rig))
    assert steward.process is not None
    assert f"pid {steward.process.pid}" in refused(second, steward.rig)
    throughout(2.0, lambda: (engines(steward), engines(second)) == before, "an engine was touched")
    second.write(Entry("chat", theirs))
    second.converged()
    assert (engines(steward), engines(second)) == before


@pytest.mark.parametrize("text", ["dead", "reused", "nonsense"])
def test_git_21_stale_lock_file(steward: Steward, text: str) -> None:
    """Given a lock file that names a dead pid, a living stranger, or nonsense, when started, then once, and only once."""
    dead = subprocess.Popen(["true"])
    dead.wait(10)
    content = {"dead": f"{dead.pid}\n", "reused": f"{os.getpid()}\n", "nonsense": "\0\0pid=?\n"}[text]
    path = lock_file(steward)
    path.parent.mkdir(mode=0o755)
    path.write_text(content)
    path.chmod(0o666)
    steward.write(Entry("chat", free_port()))
    steward.start()
    steward.converged()
    assert steward.process is not None
    again = steward.cli("run")
    assert again.returncode == 3
    assert f"pid {steward.process.pid}" in again.stderr


def test_git_21_killed_controller_leaves_no_lock(steward: Steward) -> None:
    """Given a controller that was killed, when the next one starts, then it does so at once and nothing is started twice."""
    steward.write(Entry("chat", free_port()))
    steward.start()
    steward.converged()
    before = engines(steward)
    steward.kill()
    assert lock_file(steward).exists()
    steward.start()
    steward.converged()
    assert engines(steward) == before


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user can enter, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.parametrize("made", ["open", "closed"])
def test_git_21_lock_folder_of_root(steward: Steward, shared: Path, made: str) -> None:
    """Given a lock folder of root, when another user starts Steward, then it locks there or says what to do, and never both."""
    able = os.geteuid() == 0 and shutil.which("setpriv") is not None and os.environ["DOCKER_HOST"].startswith("unix://")
    require("root", able, "only root can start it as another user, with setpriv")
    steward.write(Entry("chat", free_port(), more=("state: stopped",)))
    shutil.copytree(steward.estate.parent, shared / "desired")
    locks = shared / "lock"
    steward.more_env |= {
        "STEWARD_ESTATE": str(shared / "desired"),
        "STEWARD_STATE": str(shared / "state"),
        "STEWARD_LOCK_DIR": str(locks),
        "HOME": str(shared),
    }
    settings = Settings(shared / "desired", shared / "state", locks)
    path = lock_path(settings, steward.engine.info()["ID"], steward.rig)
    locks.mkdir(mode=0o755)
    if made == "open":
        path.touch()
        path.chmod(0o666)
    ended = _as_nobody(steward, "apply", "--timeout", "30s")
    assert "Traceback" not in ended.stderr
    if made == "open":
        assert ended.returncode == 0, ended.stderr
    else:
        assert ended.returncode == 3
        assert str(path) in ended.stderr
        assert "STEWARD_LOCK_DIR" in ended.stderr


def _as_nobody(steward: Steward, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A user without rights of his own, in the group that may speak to the engine."""
    group = Path(os.environ["DOCKER_HOST"].removeprefix("unix://")).stat().st_gid
    # the Python that runs the tests may lie where only root can read
    reads = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search"]
    user = ["setpriv", "--reuid=65534", f"--regid={group}", "--clear-groups", *reads]
    command = [*user, sys.executable, "-m", "controller.cli", *arguments]
    return subprocess.run(command, env=steward.env(), capture_output=True, text=True, timeout=60, check=False)
