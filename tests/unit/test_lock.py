"""One writer a rig, by the kernel's word alone: pid files, dead holders and other users' folders change nothing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller.errors import EnvironmentFault, LockHeld
from controller.settings import Settings
from controller.store.lock import WriterLock, lock_path, writer_lock

REPOSITORY = Path(__file__).parents[2]

HOLDER = """
    import os
    import subprocess
    import sys
    from pathlib import Path

    from controller.errors import EnvironmentFault, LockHeld
    from controller.store.lock import WriterLock

    path, who, child = sys.argv[1:]
    if who == "nobody" and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    lock = WriterLock(Path(path))
    try:
        lock.acquire()
    except (LockHeld, EnvironmentFault) as error:
        print(type(error).__name__, error, flush=True)
        sys.exit(3)
    if child == "child":
        process = subprocess.Popen(["sleep", "60"], close_fds=False)
        print("held", process.pid, flush=True)
    else:
        print("held", os.getpid(), flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_process(path: Path, who: str = "self", child: str = "") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process that tries to take the lock, and what it said; it ends with the block."""
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), str(path), who, child]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate(timeout=10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the lock lies, in a folder that does not exist yet."""
    return tmp_path / "run" / "steward" / "engine-rig.lock"


@pytest.fixture
def common() -> Iterator[Path]:
    """A lock below a folder that every user of the machine can enter, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "steward" / "engine-rig.lock"


def settings(tmp_path: Path, rig: str) -> Settings:
    """Settings with folders of the test."""
    return Settings(tmp_path / "desired", tmp_path / "state", tmp_path / "locks", rig)


def test_second_object_is_refused_until_release(path: Path) -> None:
    """Two writers of one rig: the second is told who the first is, and may go on once that one lets go."""
    first, second = WriterLock(path), WriterLock(path)
    first.acquire()
    first.acquire()
    assert first.held
    with pytest.raises(LockHeld, match=f"pid {os.getpid()}"):
        second.acquire()
    first.release()
    first.release()
    with second:
        assert second.held
    assert path.exists()


def test_git_20_second_process_is_refused_and_told_the_first(path: Path) -> None:
    """git-20: of two controllers on one engine and rig the second refuses, naming the first."""
    with other_process(path) as (holder, said):
        assert said == f"held {holder.pid}"
        with pytest.raises(LockHeld, match=f"pid {holder.pid}"):
            WriterLock(path).acquire()


def test_git_20_other_rigs_do_not_meet(tmp_path: Path) -> None:
    """git-20: other engines and rig names have locks of their own; a simulated rig's lock is its state folder's."""
    auto = settings(tmp_path, "auto")
    paths = {lock_path(auto, "ENGINE:1", "rig"), lock_path(auto, "ENGINE:2", "rig"), lock_path(auto, "ENGINE:1", "lab")}
    assert len(paths) == 3
    assert {path.parent for path in paths} == {tmp_path / "locks"}
    assert lock_path(settings(tmp_path, "sim"), "ENGINE:1", "rig") == tmp_path / "state" / "lock"
    assert lock_path(settings(tmp_path, "sim:two.yml"), "ENGINE:1", "rig") == tmp_path / "state" / "lock"
    assert lock_path(settings(tmp_path, "simple.yml"), "E", "rig") == tmp_path / "locks" / "E-rig.lock"


def test_engine_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    """Whatever an engine calls itself, its lock lies in the lock folder."""
    path = lock_path(settings(tmp_path, "auto"), "../../etc/x y", "rig")
    assert path.parent == tmp_path / "locks"
    assert lock_path(settings(tmp_path, "auto"), "", "rig").name == "unknown-rig.lock"


def test_git_21_killed_holder_leaves_no_lock(path: Path) -> None:
    """git-21: after SIGKILL the file still names the dead process, and the next one starts at once."""
    with other_process(path) as (holder, _):
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
        assert path.read_text() == f"{holder.pid}\n"
        with WriterLock(path):
            assert path.read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize(
    "content",
    [f"{os.getpid()}\n", "1\n", "4194303\n", "", "no pid\n", "\udcff" * 100],
    ids=["own", "init", "dead", "empty", "words", "bytes"],
)
def test_git_21_text_in_the_file_is_never_believed(path: Path, content: str) -> None:
    """git-21: a pid that is dead, alive again as another program, or nonsense keeps nobody out."""
    path.parent.mkdir(parents=True)
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with WriterLock(path) as lock:
        assert lock.held


def test_git_21_holder_without_a_pid_is_still_a_holder(path: Path) -> None:
    """git-21: the kernel's lock holds although somebody emptied the file."""
    with other_process(path):
        path.write_text("")
        with pytest.raises(LockHeld, match=r"another Steward writes"):
            WriterLock(path).acquire()


def test_child_of_a_dead_holder_does_not_keep_the_lock(path: Path) -> None:
    """A helper program that outlives Steward has not inherited its lock."""
    with other_process(path, child="child") as (holder, said):
        child = int(said.split()[1])
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
        try:
            os.kill(child, 0)
            with WriterLock(path) as lock:
                assert lock.held
        finally:
            os.kill(child, signal.SIGKILL)


def test_folder_and_file_are_for_all_users(path: Path) -> None:
    """Two users of one engine must meet at the same lock, whatever the umask of the first."""
    before = os.umask(0o077)
    try:
        with WriterLock(path):
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o1777
            assert stat.S_IMODE(path.stat().st_mode) == 0o666
    finally:
        os.umask(before)


def test_lock_of_a_simulated_rig_is_private(tmp_path: Path) -> None:
    """A state folder that the lock has to make stays closed to others."""
    with writer_lock(settings(tmp_path, "sim"), "", "rig") as lock:
        assert stat.S_IMODE(lock.path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_git_21_another_user_meets_the_same_lock(common: Path) -> None:
    """git-21: in a folder that root owns, another user is refused while root holds, takes over after, and is met by root."""
    with WriterLock(common), other_process(common, who="nobody") as (_, said):
        assert said.startswith("LockHeld another Steward (pid")
    with other_process(common, who="nobody") as (holder, said):
        assert said == f"held {holder.pid}"
        with pytest.raises(LockHeld, match=f"pid {holder.pid}"):
            WriterLock(common).acquire()


def test_git_21_closed_folder_of_another_user_is_named(common: Path) -> None:
    """git-21: a lock folder that only its owner may write gets a sentence with the way out, and no lock."""
    common.parent.mkdir()
    common.parent.chmod(0o555)
    with other_process(common, who="nobody") as (process, said):
        assert process.wait(10) == 3
    assert said.startswith("EnvironmentFault the lock")
    assert "STEWARD_LOCK_DIR" in said


def test_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    """The folder is open to all users, so a link that one of them left there must not lead to another file."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path.parent.mkdir(parents=True)
    path.symlink_to(victim)
    with pytest.raises(EnvironmentFault, match="cannot be used"):
        WriterLock(path).acquire()
    path.unlink()
    path.hardlink_to(victim)
    with pytest.raises(EnvironmentFault, match="not a plain file"):
        WriterLock(path).acquire()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(EnvironmentFault, match="not a plain file"):
        WriterLock(path).acquire()
    assert victim.read_text() == "precious"


def test_read_only_file_still_locks(common: Path) -> None:
    """Where the pid cannot be written, the lock holds all the same."""
    common.parent.mkdir(parents=True)
    common.touch(0o444)
    with other_process(common, who="nobody") as (_, said):
        assert said.startswith("held")
        with pytest.raises(LockHeld, match="another Steward writes"):
            WriterLock(common).acquire()


def test_removed_file_is_locked_anew(path: Path) -> None:
    """After a cleaner removed the file, a new writer does not take a lock that nobody else can see."""
    with WriterLock(path):
        path.unlink()
        third = WriterLock(path)
        with WriterLock(path), pytest.raises(LockHeld):
            third.acquire()
