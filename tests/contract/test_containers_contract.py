"""What the port Containers promises, on every kind of engine."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from controller.errors import EngineUnreachable, EnvironmentFault, NameTaken, NotFound, PortTaken, SpecFault
from controller.model.observed import ContainerState
from controller.simulation.engine.script import KILLED, TERMINATED, Line, Script
from tests.contract.http_servers import free_port
from tests.contract.rigs import Engine, Rig

DEAF = Script(log=(Line("deaf"),), ignore_term=True)


def test_a_created_container_is_listed_as_it_was_asked_for(rig: Rig) -> None:
    """Identity, name, image, port and policy come back from the engine; nothing runs yet."""
    request = rig.request()
    made = rig.engine.create(request, {}, [str(word) for word in request.spec.argv])
    found = rig.must_see(made)
    assert (found.identity, found.name, found.state) == (request.identity, request.name, ContainerState.CREATED)
    image = rig.engine.inspect(rig.image)
    assert image is not None
    assert (found.image_id, found.host_ports, found.restart_policy) == (image.id, (request.spec.port,), "no")
    assert (found.running, found.pid, found.started_at, found.finished_at, found.error) == (False, 0, None, None, "")
    assert found.created_at is not None
    assert abs(found.created_at - rig.now()) < 30
    assert found.ids_complete


def test_a_container_may_be_created_by_image_id(rig: Rig) -> None:
    """A pinned image id wins over the reference, which may point to something else by now."""
    image = rig.engine.inspect(rig.image)
    assert image is not None
    request = rig.request(image="steward-test/moved:1")
    pinned = type(request)(request.identity, request.name, request.spec, image.id)
    made = rig.engine.create(pinned, {}, [str(word) for word in request.spec.argv])
    assert rig.must_see(made).image_id == image.id


def test_a_taken_name_is_an_environment_fault_that_names_the_holder(rig: Rig) -> None:
    """A second create of the same generation finds its own name: only a new observation tells whose it is."""
    first = rig.create("one")
    with pytest.raises(NameTaken, match=first):
        rig.create("one")


def test_a_foreign_name_is_left_alone(rig: Rig) -> None:
    """A container that is not ours keeps the name and stays as it was."""
    request = rig.request()
    foreign = rig.hand.foreign(request.name, rig.image)
    with pytest.raises(NameTaken, match=foreign):
        rig.engine.create(request, {}, ["sh"])
    assert rig.must_see(foreign).running


def test_a_missing_image_is_not_found(rig: Rig) -> None:
    """Create never pulls."""
    with pytest.raises(NotFound, match="steward-test/absent:1"):
        rig.create(image="steward-test/absent:1")


def test_a_missing_network_is_found_before_anything_is_made(rig: Rig) -> None:
    """The fault names the network, and no half-made container stays behind."""
    request = rig.request(networks=("steward-test-absent",))
    with pytest.raises(EnvironmentFault, match="steward-test-absent"):
        rig.engine.create(request, {}, ["sh"])
    assert all(found.name != request.name for found in rig.engine.list())


def test_a_started_container_runs_with_a_process(rig: Rig) -> None:
    """Start is idempotent: the second one changes neither process nor start time."""
    made = rig.started()
    first = rig.must_see(made)
    assert (first.state, first.running) == (ContainerState.RUNNING, True)
    assert first.pid > 0
    assert first.started_at is not None
    rig.engine.start(made)
    second = rig.must_see(made)
    assert (second.pid, second.started_at) == (first.pid, first.started_at)


def test_a_port_of_another_container_is_taken(rig: Rig) -> None:
    """The container stays `created` with the reason in `error`, and starts once the port is free."""
    port = free_port()
    holder = rig.started("one", port=port)
    made = rig.create("two", port=port)
    with pytest.raises(PortTaken, match=str(port)):
        rig.engine.start(made)
    refused = rig.must_see(made)
    assert (refused.state, refused.started_at, refused.exit_code) == (ContainerState.CREATED, None, 128)
    assert str(port) in refused.error
    assert rig.must_see(holder).running
    rig.engine.stop(holder, 5)
    rig.engine.start(made)
    assert rig.must_see(made).running
    assert rig.must_see(made).error == ""


def test_a_port_of_a_host_process_is_taken(rig: Rig) -> None:
    """A program outside the engine counts the same."""
    port = free_port()
    made = rig.create(port=port)
    rig.hand.listen(port)
    with pytest.raises(PortTaken, match=str(port)):
        rig.engine.start(made)
    rig.hand.release(port)
    rig.engine.start(made)
    assert rig.must_see(made).running


def test_a_restart_that_finds_its_port_taken_keeps_the_old_end(rig: Rig) -> None:
    """A container that ran before stays `exited` with its old exit code and times; only `error` tells of the attempt."""
    port = free_port()
    made = rig.started(port=port)
    rig.engine.stop(made, 5)
    before = rig.must_see(made)
    rig.hand.listen(port)
    with pytest.raises(PortTaken):
        rig.engine.start(made)
    after = rig.must_see(made)
    assert (after.state, after.exit_code, after.finished_at) == (ContainerState.EXITED, before.exit_code, before.finished_at)
    assert str(port) in after.error


def test_stop_ends_a_container_that_hears_term(rig: Rig) -> None:
    """It exits with 143 and is stopped; stopping it again is fine."""
    made = rig.started()
    rig.engine.stop(made, 10)
    stopped = rig.must_see(made)
    assert (stopped.state, stopped.exit_code, stopped.pid) == (ContainerState.EXITED, TERMINATED, 0)
    assert stopped.finished_at is not None
    rig.engine.stop(made, 10)
    assert rig.must_see(made) == stopped


def test_stop_kills_a_container_that_is_deaf(rig: Rig) -> None:
    """After the grace comes KILL, which leaves 137."""
    made = rig.started(script=DEAF)
    rig.wait(lambda: rig.engine.tail(made, 1).lines)  # a program that has just begun is not deaf yet
    rig.engine.stop(made, 1)
    assert rig.must_see(made).exit_code == KILLED


def test_stop_waits_for_a_container_that_takes_its_time(rig: Rig) -> None:
    """One that ends within the grace leaves its own code."""
    made = rig.started(script=Script(log=(Line("up"),), term_s=0.3, term_code=7))
    rig.wait(lambda: rig.engine.tail(made, 1).lines)
    rig.engine.stop(made, 20)
    assert (rig.must_see(made).state, rig.must_see(made).exit_code) == (ContainerState.EXITED, 7)


def test_stop_also_ends_a_paused_container(rig: Rig) -> None:
    """A pause by hand does not make a container immortal."""
    made = rig.started()
    rig.hand.pause(made)
    rig.engine.stop(made, 5)
    assert rig.must_see(made).state is ContainerState.EXITED


def test_stop_of_a_created_container_is_fine(rig: Rig) -> None:
    """There is nothing to end."""
    made = rig.create()
    rig.engine.stop(made, 5)
    assert rig.must_see(made).state is ContainerState.CREATED


def test_an_exit_of_its_own_is_seen_with_its_code(rig: Rig) -> None:
    """Code, end time and state come from the engine."""
    made = rig.started(script=Script(exits_s=0.2, exit_code=3))
    rig.wait(lambda: not rig.must_see(made).running)
    ended = rig.must_see(made)
    assert (ended.state, ended.exit_code, ended.oom_killed) == (ContainerState.EXITED, 3, False)
    assert ended.started_at is not None
    assert ended.finished_at is not None
    assert ended.finished_at > ended.started_at


def test_an_exited_container_starts_again_afresh(rig: Rig) -> None:
    """The second run has no exit code and no end."""
    made = rig.started()
    rig.engine.stop(made, 5)
    rig.engine.start(made)
    again = rig.must_see(made)
    assert (again.state, again.exit_code, again.finished_at is None or again.running) == (ContainerState.RUNNING, 0, True)


def test_a_running_container_is_not_removed(rig: Rig) -> None:
    """Remove never forces: the refusal is a SpecFault, the container stays."""
    made = rig.started()
    with pytest.raises(SpecFault):
        rig.engine.remove(made)
    assert rig.must_see(made).running


def test_a_stopped_container_is_removed_once_and_for_all(rig: Rig) -> None:
    """It is gone, and removing it again is fine."""
    made = rig.started()
    rig.engine.stop(made, 5)
    rig.engine.remove(made)
    assert rig.see(made) is None
    rig.engine.remove(made)


def test_rename_gives_the_name_back(rig: Rig) -> None:
    """A container renamed by hand gets its own name again; that it has it already is fine."""
    made = rig.started()
    name = rig.must_see(made).name
    rig.hand.rename(made, f"{rig.name}.by-hand")
    assert rig.must_see(made).name == f"{rig.name}.by-hand"
    rig.engine.rename(made, name)
    rig.engine.rename(made, name)
    assert rig.must_see(made).name == name


def test_rename_to_a_taken_name_is_refused(rig: Rig) -> None:
    """The holder keeps it."""
    one, two = rig.create("one"), rig.create("two")
    with pytest.raises(NameTaken):
        rig.engine.rename(two, rig.must_see(one).name)


def test_a_paused_container_runs_on(rig: Rig) -> None:
    """Paused counts as running (it holds port and card); unpause is idempotent; start is no way out of a pause."""
    made = rig.started()
    rig.hand.pause(made)
    paused = rig.must_see(made)
    assert (paused.state, paused.running) == (ContainerState.PAUSED, True)
    with pytest.raises(EnvironmentFault):
        rig.engine.start(made)
    rig.engine.unpause(made)
    rig.engine.unpause(made)
    assert rig.must_see(made).state is ContainerState.RUNNING


def test_a_restart_policy_set_by_hand_is_seen_and_set_back(rig: Rig) -> None:
    """Only Steward starts engines again."""
    made = rig.create()
    rig.hand.restart_policy(made, "always")
    assert rig.must_see(made).restart_policy == "always"
    rig.engine.reset_policy(made)
    assert rig.must_see(made).restart_policy == "no"


def test_foreign_containers_are_listed_in_summary(rig: Rig) -> None:
    """Enough to name who is in the way: no identity, but name, state, image and held ports."""
    port, name = free_port(), f"foreign-{uuid.uuid4().hex[:8]}"
    foreign = rig.hand.foreign(name, rig.image, port=port)
    image = rig.engine.inspect(rig.image)
    found = rig.must_see(foreign)
    assert image is not None
    assert (found.identity, found.ids_complete, found.name) == (None, False, name)
    assert (found.state, found.image_id, found.host_ports) == (ContainerState.RUNNING, image.id, (port,))


@pytest.mark.parametrize(
    "effect",
    [
        lambda engine: engine.start("0" * 64),
        lambda engine: engine.stop("0" * 64, 1),
        lambda engine: engine.rename("0" * 64, "nobody"),
        lambda engine: engine.unpause("0" * 64),
        lambda engine: engine.reset_policy("0" * 64),
        lambda engine: engine.tail("0" * 64, 5),
    ],
    ids=["start", "stop", "rename", "unpause", "reset_policy", "tail"],
)
def test_an_unknown_container_is_not_found(rig: Rig, effect: Callable[[Engine], object]) -> None:
    """What is gone is said to be gone; it is no fault of the engine and none of the spec."""
    with pytest.raises(NotFound):
        effect(rig.engine)


@pytest.mark.parametrize(
    "call",
    [
        lambda engine: engine.list(),
        lambda engine: engine.start("x1"),
        lambda engine: engine.stop("x1", 1),
        lambda engine: engine.remove("x1"),
        lambda engine: engine.rename("x1", "x2"),
        lambda engine: engine.engine_id(),
        lambda engine: engine.inspect("x:1"),
        lambda engine: engine.pull("x:1", print),
        lambda engine: engine.tail("x1", 5),
        lambda engine: engine.hand_signal("x1", 0.0, 1.0),
        lambda engine: engine.follow(print, lambda: False),
    ],
    ids=["list", "start", "stop", "remove", "rename", "engine_id", "inspect", "pull", "tail", "hand_signal", "follow"],
)
def test_an_engine_that_is_away_is_never_an_empty_engine(rig: Rig, call: Callable[[Engine], object]) -> None:
    """Every call raises EngineUnreachable; none returns nothing."""
    with pytest.raises(EngineUnreachable):
        call(rig.unreachable())


def test_the_engine_has_an_id_of_its_own(rig: Rig) -> None:
    """It names the lock, so it must not change."""
    assert rig.engine.engine_id()
    assert rig.engine.engine_id() == rig.engine.engine_id()


def test_a_container_removed_by_hand_is_gone(rig: Rig) -> None:
    """The next list does not have it, and the rest is still there."""
    one, two = rig.started("one"), rig.started("two")
    rig.hand.remove(one)
    assert rig.see(one) is None
    assert rig.must_see(two).running
