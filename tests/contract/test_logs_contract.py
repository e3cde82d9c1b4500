"""What the port ContainerLogs promises, on every kind of engine."""

from __future__ import annotations

import pytest

from controller.simulation.engine.script import Line, Script
from controller.simulation.run_log import RunLog
from tests.contract.rigs import Rig, real_rig
from tests.docker_fixtures import DockerRig, eventually

MESS = b"plain\n\x1b[32mgreen\x1b[0m\tcell\n\n  10%\r 100%\n\xff \xc3\xb6\r\n" + b"x" * 20_000 + b"\nlast"
"""What engines print besides lines of text; it does not end its last line."""


def test_both_streams_come_in_order_and_without_timestamps(rig: Rig) -> None:
    """Lines of stdout and stderr as the container wrote them."""
    script = Script(log=(Line("one"), Line("two", 0.2, stderr=True), Line("three", 0.4)))
    made = rig.started(script=script)
    rig.wait(lambda: len(rig.engine.tail(made, 10).lines) == 3)
    assert rig.engine.tail(made, 10).lines == ("one", "two", "three")


def test_only_the_last_lines_are_read(rig: Rig) -> None:
    """A long log costs no more than its tail."""
    made = rig.started(script=Script(log=tuple(Line(f"line {number}") for number in range(20)), exits_s=0.1))
    rig.wait(lambda: not rig.must_see(made).running)
    assert rig.engine.tail(made, 3).lines == ("line 17", "line 18", "line 19")


def test_the_mark_changes_when_the_log_grows_and_only_then(rig: Rig) -> None:
    """The boot's stall timer lives on this."""
    made = rig.started(script=Script(log=(Line("loading"), Line("loading", 1.0))))
    rig.wait(lambda: rig.engine.tail(made, 5).lines)
    first = rig.engine.tail(made, 5).mark
    assert rig.engine.tail(made, 5).mark == first
    rig.wait(lambda: len(rig.engine.tail(made, 5).lines) == 2)
    assert rig.engine.tail(made, 5).mark != first
    assert rig.must_see(made).running


def test_a_paused_container_writes_nothing(rig: Rig) -> None:
    """Given two containers that count, when one is paused, then it stands still until it may go on, and the other does not."""
    counting = Script(log=tuple(Line(f"{number}", number * 0.1) for number in range(600)))
    frozen, free = rig.started("one", counting), rig.started("two", counting)

    def said(container: str) -> int:
        return len(rig.engine.tail(container, 1000).lines)

    def goes_on(container: str) -> None:
        before = said(container)
        rig.wait(lambda: said(container) > before + 3)

    goes_on(frozen)
    rig.hand.pause(frozen)
    goes_on(free)  # what was on its way when it was paused has come by then
    stood = said(frozen)
    goes_on(free)
    assert said(frozen) == stood
    rig.engine.unpause(frozen)
    goes_on(frozen)


def test_lines_of_a_finished_run_come_before_those_of_the_next(rig: Rig) -> None:
    """A container that is started again goes on in the same log."""
    made = rig.started(script=Script(log=(Line("hello"),), exits_s=0.1, exit_code=0))
    rig.wait(lambda: not rig.must_see(made).running)
    rig.engine.start(made)
    rig.wait(lambda: rig.engine.tail(made, 5).lines == ("hello", "hello"))


def test_a_container_that_never_ran_has_an_empty_log(rig: Rig) -> None:
    """Empty, not an error."""
    assert rig.engine.tail(rig.create(), 5).lines == ()


def test_the_log_outlives_the_container_s_end(rig: Rig) -> None:
    """The last words of a failed boot are what people need."""
    made = rig.started(script=Script(log=(Line("out of memory", stderr=True),), exits_s=0.1, exit_code=1))
    rig.wait(lambda: not rig.must_see(made).running)
    assert rig.engine.tail(made, 5).lines == ("out of memory",)


@pytest.mark.docker
def test_engine_processes_show_what_docker_would(docker_rig: DockerRig) -> None:
    """Given the same bytes printed in a container, when both logs are read, then they have the same lines, also at the end."""
    rig = real_rig(docker_rig, lambda: docker_rig.engine)
    program = f"import os, sys, time; os.write(1, {MESS!r}); time.sleep(float(sys.argv[1]))"
    running, over = (
        rig.engine.create(rig.request(name), {}, ["python3", "-c", program, seconds])
        for name, seconds in (("one", "600"), ("two", "0"))
    )
    rig.engine.start(running)
    rig.engine.start(over)
    eventually(lambda: not rig.must_see(over).running)
    log = RunLog()
    log.feed(MESS)
    eventually(lambda: rig.engine.tail(running, 60).lines == log.lines())
    log.end()
    assert rig.engine.tail(over, 60).lines == log.lines()
