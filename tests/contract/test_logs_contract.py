"""What the port ContainerLogs promises, on the engine in memory and on a real one."""

from __future__ import annotations

from controller.simulation.script import Line, Script
from tests.contract.rigs import Rig


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


def test_a_container_that_never_ran_has_an_empty_log(rig: Rig) -> None:
    """Empty, not an error."""
    assert rig.engine.tail(rig.create(), 5).lines == ()


def test_the_log_outlives_the_container_s_end(rig: Rig) -> None:
    """The last words of a failed boot are what people need."""
    made = rig.started(script=Script(log=(Line("out of memory", stderr=True),), exits_s=0.1, exit_code=1))
    rig.wait(lambda: not rig.must_see(made).running)
    assert rig.engine.tail(made, 5).lines == ("out of memory",)
