"""Engines as processes: their ports, their ends, what they are told, and that none outlives the process that started them."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.kernel_clock import KernelClock
from controller.errors import EnvironmentFault, PortTaken
from controller.model.profile import DialectName
from controller.simulation.engine.script import KILLED, TERMINATED, Line, Script
from controller.simulation.engine_process import EngineProcess
from controller.simulation.engine_processes import EngineProcesses
from controller.simulation.process import Order, Process
from tests.contract.http_servers import free_port
from tests.docker_fixtures import eventually

TALKING = Script(log=(Line("up"),))
KEY = "sk-of-this-test"


@pytest.fixture
def processes() -> Iterator[EngineProcesses]:
    """Engines that end with the test."""
    made = EngineProcesses(KernelClock())
    yield made
    made.close()


def order(script: Script = TALKING, **more: Any) -> Order:
    """An order for an engine on a port that is free."""
    return replace(Order("r.one.1", "one", port=free_port(), script=script), **more)


def up(process: Process) -> Process:
    """The process, once it has said something."""
    eventually(process.log)
    return process


def health(port: int) -> int:
    """The status of its health page; 0 when nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def gone(pid: int) -> bool:
    """Whether no process of this number runs, a dead one that nobody has asked about aside."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_an_engine_serves_on_the_port_of_its_order(processes: EngineProcesses) -> None:
    """Given an order with a port, when the engine runs, then it answers there, as a process of its own."""
    wanted = order()
    process = processes.start(wanted)
    eventually(lambda: health(wanted.port) == 200)
    assert process.pid not in (0, os.getpid())
    assert process.ended() is None


def test_an_engine_that_does_not_listen_yet_holds_its_port(processes: EngineProcesses) -> None:
    """Given a load during which connections are refused, when another program wants the port, then it does not get it."""
    wanted = order(replace(TALKING, load_s=60.0, load_phase="refused"))
    up(processes.start(wanted))
    assert health(wanted.port) == 0
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use") as refused:
            other.bind(("127.0.0.1", wanted.port))
    assert refused.value.errno == errno.EADDRINUSE


def test_a_port_is_free_again_although_connections_are_still_closing(processes: EngineProcesses) -> None:
    """Given an engine that hung up on its clients, when it is stopped and started again, then it gets the same port."""
    wanted = order()
    process = processes.start(wanted)
    eventually(lambda: health(wanted.port) == 200)
    with socket.create_connection(("127.0.0.1", wanted.port)) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(100)
        process.kill()
        while client.recv(1000):
            pass
    processes.start(wanted)
    eventually(lambda: health(wanted.port) == 200)


def test_a_taken_port_is_told_in_dockers_words(processes: EngineProcesses) -> None:
    """Given a port that a program listens on, when an engine is to have it, then no process is started."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(PortTaken) as refused:
            processes.start(order(port=port))
    expected = f"listen tcp4 127.0.0.1:{port}: bind: address already in use"
    assert str(refused.value).startswith("driver failed programming external connectivity on endpoint r.one.1")
    assert str(refused.value).endswith(expected)


def test_an_address_that_is_not_here_is_no_taken_port(processes: EngineProcesses) -> None:
    """Given an address of a network that is not up, when an engine is to listen there, then the surroundings are at fault."""
    with pytest.raises(EnvironmentFault, match="bind: cannot assign requested address") as refused:
        processes.start(order(bind="192.0.2.9"))
    assert not isinstance(refused.value, PortTaken)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (replace(TALKING, exits_s=0.1, exit_code=3), 3),
        (replace(TALKING, exits_s=0.1, exit_code=0), 0),
    ],
)
def test_an_end_of_its_own_has_its_code(processes: EngineProcesses, script: Script, code: int) -> None:
    """Given a script that ends, when the process is over, then the code and the moment are known."""
    began = KernelClock().now().wall
    process = processes.start(order(script))
    end = eventually(process.ended)
    assert (end.code, end.oom) == (code, False)
    assert began < end.at <= KernelClock().now().wall


def test_only_an_end_of_its_own_is_for_want_of_memory(processes: EngineProcesses) -> None:
    """Given a script that runs out of memory, when somebody stops it before, then it is not said to have done so."""
    script = replace(TALKING, exits_s=0.1, exit_code=KILLED, oom=True)
    end = eventually(processes.start(order(script)).ended)
    assert (end.code, end.oom) == (KILLED, True)
    stopped = up(processes.start(order(replace(script, exits_s=600.0))))
    stopped.stop(10.0)
    end = eventually(stopped.ended)
    assert end.oom is False


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(
    ("script", "grace", "code"),
    [
        (replace(TALKING, term_code=TERMINATED), 20.0, TERMINATED),
        (replace(TALKING, term_s=0.2, term_code=7), 20.0, 7),
        (replace(TALKING, ignore_term=True), 0.5, KILLED),
    ],
    ids=["hears", "takes its time", "deaf"],
)
def test_stop_ends_it_by_term_or_else_by_kill(
    processes: EngineProcesses, script: Script, grace: float, code: int, frozen: bool
) -> None:
    """Given an engine that hears TERM or not, frozen or not, when it is stopped, then it has ended when that returns."""
    process = up(processes.start(order(script)))
    if frozen:
        process.pause()
    process.stop(grace)
    end = process.ended()
    assert end is not None
    assert end.code == code
    process.stop(grace)
    process.kill()
    assert process.ended() == end


def test_a_frozen_engine_is_killed_all_the_same(processes: EngineProcesses) -> None:
    """Given a paused engine, when it is killed, then it is gone with 137 and its pid with it."""
    process = up(processes.start(order()))
    process.pause()
    process.kill()
    end = process.ended()
    assert end is not None
    assert end.code == KILLED
    assert gone(process.pid)


def test_a_script_can_be_changed_while_it_runs(processes: EngineProcesses) -> None:
    """Given a healthy engine, when its script changes, then it does what the other one says from then on."""
    wanted = order()
    process = processes.start(wanted)
    eventually(lambda: health(wanted.port) == 200)
    process.change(replace(TALKING, health="500"))
    eventually(lambda: health(wanted.port) == 500)
    assert process.script.health == "500"
    process.change(replace(TALKING, exits_s=0.0, exit_code=9))
    assert eventually(process.ended).code == 9
    process.change(TALKING)


def test_a_frozen_engine_does_what_it_was_told_last_when_it_runs_on(processes: EngineProcesses) -> None:
    """Given a paused engine that reads nothing, when it is told more than a pipe holds, then the last of it counts later."""
    process = up(processes.start(order()))
    process.pause()
    for code in range(100):
        process.change(Script(log=(Line("x" * 1000),), exits_s=0.0, exit_code=code))
    assert process.ended() is None
    process.resume()
    assert eventually(process.ended).code == 99


def test_an_order_may_be_longer_than_a_pipe_holds(processes: EngineProcesses) -> None:
    """Given a script with a long log, when the engine is started, then it prints all of it."""
    lines = tuple(Line(f"{number} {'x' * 100}") for number in range(2000))
    process = processes.start(order(Script(log=lines)))
    eventually(lambda: process.log() == tuple(line.text for line in lines))


def test_a_command_line_that_makes_no_sense_ends_at_once_with_a_sentence(processes: EngineProcesses) -> None:
    """Given a flag that the engine does not know, when it is started, then it has ended with 2 and its log names the flag."""
    process = processes.start(order(argv=("--no-such-flag",)))
    end = process.ended()
    assert end is not None
    assert end.code == 2
    assert "--no-such-flag" in process.log()[-1]
    process.stop(1.0)
    assert process.ended() == end


def test_secrets_are_not_in_the_process_table(processes: EngineProcesses) -> None:
    """Given a key in flags and environment, when the engine runs, then its command line and environment do not have it."""
    wanted = order(argv=("--api-key", KEY), env={"TOKEN": KEY}, dialect=DialectName.VLLM)
    process = processes.start(wanted)
    eventually(lambda: health(wanted.port) == 200)
    for name in ("cmdline", "environ"):
        told = Path(f"/proc/{process.pid}/{name}").read_bytes()
        assert told
        assert KEY.encode() not in told
    request = urllib.request.Request(f"http://127.0.0.1:{wanted.port}/v1/models", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert json.load(answer)["data"]


def test_close_ends_all_of_them_and_nothing_starts_after_it() -> None:
    """Given a deaf engine and a frozen one, when the rig is closed, then both are gone, and again closing is fine."""
    processes = EngineProcesses(KernelClock())
    deaf, frozen = up(processes.start(order(replace(TALKING, ignore_term=True)))), up(processes.start(order()))
    frozen.pause()
    processes.close()
    assert [process.ended() is not None for process in (deaf, frozen)] == [True, True]
    assert gone(deaf.pid)
    assert gone(frozen.pid)
    processes.close()
    with pytest.raises(EnvironmentFault, match="closed"):
        processes.start(order())


def test_waiting_is_how_time_passes_here(processes: EngineProcesses) -> None:
    """Given nothing that happens, when it is waited, then the answer is that one may wait again."""
    assert processes.wait(lambda: False) is True
    assert processes.wait(lambda: True) is True


CONTROLLER = """
import sys
from controller.adapters.kernel_clock import KernelClock
from controller.simulation.engine.script import Line, Script
from controller.simulation.engine_processes import EngineProcesses
from controller.simulation.process import Order
processes = EngineProcesses(KernelClock())
started = [processes.start(Order(name, name, script=Script(log=(Line("up"),), ignore_term=True))) for name in ("one", "two")]
while not all(process.log() for process in started):
    processes.wait(lambda: False)
started[0].pause()
print(*(process.pid for process in started), flush=True)
sys.stdin.readline()
"""
"""Starts two deaf engines, freezes one, tells their pids, and ends by itself when it is told to."""


@pytest.mark.parametrize("last", [signal.SIGKILL, signal.SIGTERM, None], ids=["killed", "terminated", "ended"])
def test_no_engine_outlives_its_controller(last: signal.Signals | None) -> None:
    """Given a controller with a running and a frozen engine, when it dies however it does, then both engines are gone."""
    command, pipe = [sys.executable, "-c", CONTROLLER], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as controller:
        assert controller.stdin is not None
        assert controller.stdout is not None
        assert controller.stderr is not None
        pids = [int(word) for word in controller.stdout.readline().split()]
        assert [gone(pid) for pid in pids] == [False, False]
        if last is None:
            controller.stdin.write(b"\n")
            controller.stdin.flush()
        else:
            controller.send_signal(last)
        assert controller.wait(30) == (0 if last is None else -last)
        assert controller.stderr.read() == b""
    eventually(lambda: all(gone(pid) for pid in pids))


def test_an_interrupt_from_the_terminal_does_not_reach_the_engines(processes: EngineProcesses) -> None:
    """Given an engine, when its process group is looked at, then it is not the controller's, which Ctrl-C goes to."""
    process = up(processes.start(order()))
    assert isinstance(process, EngineProcess)
    assert os.getpgid(process.pid) != os.getpgid(0)
    assert os.getsid(process.pid) == os.getsid(0)
