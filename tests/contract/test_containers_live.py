"""What holds where time passes by itself and ports are those of the machine: on engine processes as on Docker."""

from __future__ import annotations

import socket
import threading

import pytest

from controller.errors import EnvironmentFault, PortTaken
from controller.model.observed import ContainerState
from controller.simulation.engine.script import KILLED, Line, Script
from tests.contract.rigs import Rig

DEAF = Script(log=(Line("deaf"),), ignore_term=True)


def test_a_port_that_is_bound_and_not_listened_on_is_taken(live_rig: Rig) -> None:
    """Given a port that a program holds without listening, when a container starts, then it is refused until it is free."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        made = live_rig.create(port=port)
        with pytest.raises(PortTaken, match=str(port)):
            live_rig.engine.start(made)
    assert str(port) in live_rig.must_see(made).error
    live_rig.engine.start(made)
    assert live_rig.must_see(made).running


def test_an_address_that_is_not_here_is_an_environment_fault(live_rig: Rig) -> None:
    """Given a bind address of a network that is not up, when a container starts, then it stays created and says why."""
    made = live_rig.create(bind="192.0.2.9")
    with pytest.raises(EnvironmentFault, match="cannot assign requested address") as refused:
        live_rig.engine.start(made)
    assert not isinstance(refused.value, PortTaken)
    found = live_rig.must_see(made)
    assert (found.state, found.exit_code) == (ContainerState.CREATED, 128)
    assert "192.0.2.9" in found.error


def test_the_engine_answers_while_a_container_is_slow_to_stop(live_rig: Rig) -> None:
    """Given a deaf container that is being stopped, when another one is started and both are listed, then nothing waits."""
    made = live_rig.started("one", DEAF)
    live_rig.wait(lambda: live_rig.engine.tail(made, 1).lines)
    stop = threading.Thread(target=live_rig.engine.stop, args=(made, 50.0))
    stop.start()
    other = live_rig.started("two")
    seen = live_rig.must_see(made), live_rig.must_see(other)
    assert stop.is_alive()
    assert [container.running for container in seen] == [True, True]
    live_rig.hand.kill(made)
    stop.join(40)
    assert not stop.is_alive()
    ended = live_rig.must_see(made)
    assert (ended.state, ended.exit_code) == (ContainerState.EXITED, KILLED)
