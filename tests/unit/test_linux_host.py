"""The host's ports, memory and disk, on a kernel tree of the test's own and on the machine that runs the test."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.adapters.bounded_call import BoundedCall, NoAnswer
from controller.adapters.linux_host import LinuxHost
from controller.model.observed import Listener
from controller.model.reading import Known, Unknown
from controller.settings import Bounds

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def hex_address(text: str) -> str:
    """An address as the kernel prints it: 32-bit words in the machine's byte order."""
    raw = socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
    words = (raw[start : start + 4] for start in range(0, len(raw), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def line(address: str, port: int, state: str, inode: int) -> str:
    """One line of the kernel's table."""
    local = f"{hex_address(address)}:{port:04X}"
    return f"   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000  0 {inode} 1 0 100 0 0 10 0\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A kernel tree with two listeners, one connection, and one process that may be looked into."""
    tree = tmp_path / "proc"
    (tree / "net").mkdir(parents=True)
    (tree / "net/tcp").write_text(HEADER + line("127.0.0.1", 8010, "0A", 501) + line("127.0.0.1", 8010, "01", 777))
    (tree / "net/tcp6").write_text(HEADER + line("::", 443, "0A", 502) + line("::ffff:10.0.0.7", 9000, "0A", 503))
    add_process(tree, 4242, "nginx", 502, 777)
    (tree / "meminfo").write_text("MemTotal:   65536 kB\nMemFree:  1000 kB\nMemAvailable:   32768 kB\nHugePages_Total:   0\n")
    return tree


def add_process(tree: Path, pid: int, name: str, *inodes: int) -> None:
    """Let a process hold these sockets."""
    folder = tree / str(pid) / "fd"
    folder.mkdir(parents=True)
    (folder.parent / "comm").write_text(f"{name}\n")
    (folder / "0").symlink_to("/dev/null")
    for number, inode in enumerate(inodes, start=3):
        (folder / str(number)).symlink_to(f"socket:[{inode}]")


def listeners(host: LinuxHost) -> tuple[Listener, ...]:
    """The listeners, which must be readable."""
    reading = host.listeners()
    assert isinstance(reading, Known), reading
    return reading.value


def test_listeners_of_both_families_with_the_holder_where_it_is_visible(proc: Path) -> None:
    """Given sockets in several states, then only listening ones are told, with process where its files can be seen."""
    assert listeners(LinuxHost(proc=proc)) == (
        Listener("127.0.0.1", 8010),
        Listener("::", 443, 4242, "nginx"),
        Listener("10.0.0.7", 9000),
    )


def test_new_listener_and_new_holder_are_seen(proc: Path) -> None:
    """Given a process that takes over a port between two reads, then the second read names it and not the old one."""
    host = LinuxHost(proc=proc)
    listeners(host)
    (proc / "4242/comm").unlink()
    (proc / "net/tcp6").write_text(HEADER + line("::", 443, "0A", 601))
    add_process(proc, 5000, "caddy", 601)

    assert listeners(host) == (Listener("127.0.0.1", 8010), Listener("::", 443, 5000, "caddy"))


def test_reused_process_id_is_looked_up_again(proc: Path) -> None:
    """Given a process id that another program has now, then the remembered name is not told any more."""
    host = LinuxHost(proc=proc)
    listeners(host)
    (proc / "4242/comm").write_text("bash\n")

    assert Listener("::", 443, 4242, "bash") in listeners(host)


def test_tables_of_the_host_come_before_those_of_the_container(proc: Path) -> None:
    """Given a tree in which process 1 has tables of its own, then these are the host's and are read."""
    (proc / "1/net").mkdir(parents=True)
    (proc / "1/net/tcp").write_text(HEADER + line("0.0.0.0", 22, "0A", 900))

    assert listeners(LinuxHost(proc=proc)) == (Listener("0.0.0.0", 22),)


def test_kernel_without_ipv6_is_no_failure(proc: Path) -> None:
    """Given no table of IPv6 sockets, then the others are told."""
    (proc / "net/tcp6").unlink()

    assert [listener.port for listener in listeners(LinuxHost(proc=proc))] == [8010]


def test_unreadable_table_is_unknown_not_empty(tmp_path: Path) -> None:
    """Given no table at all, then the ports are Unknown: nobody may conclude that they are free."""
    reading = LinuxHost(proc=tmp_path / "nothing").listeners()

    assert isinstance(reading, Unknown)
    assert "listening ports" in reading.reason


def test_garbled_table_is_unknown(proc: Path) -> None:
    """Given a table that does not parse, then the ports are Unknown."""
    (proc / "net/tcp").write_text(HEADER + line("127.0.0.1", 8010, "0A", 501).replace("1F4A", "zzzz"))

    assert isinstance(LinuxHost(proc=proc).listeners(), Unknown)


@pytest.fixture
def open_port() -> Iterator[int]:
    """A port that this test process really listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_own_socket_is_found_with_own_process(open_port: int) -> None:
    """Given a port that the test itself holds, then the real kernel names the test's process."""
    (mine,) = (listener for listener in listeners(LinuxHost()) if listener.port == open_port)

    assert (mine.address, mine.pid) == ("127.0.0.1", os.getpid())
    assert mine.process == Path("/proc/self/comm").read_text().strip()


def test_closed_socket_is_gone_at_the_next_read(open_port: int) -> None:
    """Given a port that is opened and closed between reads, then it comes and goes."""
    host = LinuxHost()
    with socket.create_server(("127.0.0.1", 0)) as second:
        port = second.getsockname()[1]
        assert {open_port, port} <= {listener.port for listener in listeners(host)}

    ports = {listener.port for listener in listeners(host)}

    assert open_port in ports
    assert port not in ports


def test_memory_is_told_in_bytes(proc: Path, tmp_path: Path) -> None:
    """Given the kernel's figures in KiB, then total and available are bytes, and shared memory has the size of its mount."""
    reading = LinuxHost(proc=proc, shm=tmp_path).memory()

    assert isinstance(reading, Known)
    disk = os.statvfs(tmp_path)
    assert (reading.value.total, reading.value.available) == (65536 * 1024, 32768 * 1024)
    assert reading.value.shm_total == disk.f_blocks * disk.f_frsize


@pytest.mark.parametrize("text", ["MemTotal: 1 kB\n", "MemTotal: many kB\n", "MemTotal:\nMemAvailable: \n"])
def test_memory_that_is_not_told_is_unknown(proc: Path, tmp_path: Path, text: str) -> None:
    """Given figures that are missing or no numbers, then the memory is Unknown with a reason."""
    (proc / "meminfo").write_text(text)

    reading = LinuxHost(proc=proc, shm=tmp_path).memory()

    assert isinstance(reading, Unknown)
    assert reading.reason


def test_memory_of_this_machine() -> None:
    """Given the machine that runs the test, then its memory adds up."""
    reading = LinuxHost().memory()

    assert isinstance(reading, Known)
    assert 0 < reading.value.available <= reading.value.total


def test_free_disk_of_a_path_that_does_not_exist_yet(tmp_path: Path) -> None:
    """Given a folder that will be made later, then the file system of its nearest parent answers."""
    reading = LinuxHost().disk_free(str(tmp_path / "not/yet/there"))

    disk = os.statvfs(tmp_path)
    assert isinstance(reading, Known)
    assert abs(reading.value - disk.f_bavail * disk.f_frsize) < 1024**3


def test_disk_below_a_file_asks_the_folder(tmp_path: Path) -> None:
    """Given a path that leads through a file, then the answer is that of the file's own file system."""
    (tmp_path / "file").write_text("")

    assert isinstance(LinuxHost().disk_free(str(tmp_path / "file/below")), Known)


def test_disk_path_that_cannot_be_a_path_is_unknown() -> None:
    """Given a text that the kernel refuses as a path, then the reading is Unknown and nothing is raised."""
    assert isinstance(LinuxHost(Bounds()).disk_free("/\0"), Unknown)


def test_call_that_hangs_is_left_alone() -> None:
    """Given work that does not return, then it is given up in time, not begun again while it hangs, and asked anew after."""
    release, begun = threading.Event(), []

    def work() -> int:
        begun.append(1)
        release.wait(10)
        return len(begun)

    ask = BoundedCall(work, 0.05, "test")
    for _ in range(3):
        with pytest.raises(NoAnswer):
            ask()
    assert len(begun) == 1

    release.set()
    for thread in threading.enumerate():
        if thread.name == "test":
            thread.join(5)

    assert ask() == 2


def test_callers_of_the_same_moment_both_get_an_answer() -> None:
    """Given two threads that ask at once, then both have an answer."""
    release, answers = threading.Event(), []
    ask = BoundedCall(lambda: release.wait(10), 10, "test")
    threads = [threading.Thread(target=lambda: answers.append(ask())) for _ in range(2)]
    for thread in threads:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(10)

    assert answers == [True, True]


def test_error_of_the_work_reaches_the_caller() -> None:
    """Given work that fails, then its own error is raised where it was asked for."""

    def work() -> None:
        raise OSError("stale file handle")

    with pytest.raises(OSError, match="stale"):
        BoundedCall(work, 5, "test")()
