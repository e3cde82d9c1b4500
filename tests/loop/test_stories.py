"""Stories of one rig over time, on an engine in memory: boot, edit, crash, hand, accident."""

from __future__ import annotations

import itertools

import pytest

from controller.errors import EngineUnreachable, EnvironmentFault, PortTaken, PullFailed
from controller.model.events import Verb
from controller.model.observed import ContainerState, ServePhase
from controller.model.problem import Problem, Severity
from controller.model.status import State
from controller.simulation.memory_engine import Fault
from controller.simulation.script import Line, Script
from tests.loop.rig import IMAGE, MemoryRig, entry, estate

ONE = estate(entry("chat", 8010))
TWO = estate(entry("chat", 8010), entry("embed", 8011))


def test_first_boot_reaches_ready_and_is_quiet_then() -> None:
    """Given an empty engine, when the estate names two engines, then both get ready and nothing more is done."""
    rig = MemoryRig(TWO)
    status = rig.run(30)
    assert status.converged
    assert [(i.name, i.ready) for i in status.instances] == [("chat", True), ("embed", True)]
    before = list(rig.recorder.actions)
    rig.run(120)
    assert rig.recorder.actions == before


def test_an_edit_replaces_one_engine_and_leaves_the_neighbour() -> None:
    """Given two ready engines, when one is edited, then it alone is replaced, and its old container is kept, stopped."""
    rig = MemoryRig(TWO)
    rig.run(30)
    (neighbour,) = rig.running("embed")
    (old,) = rig.running("chat")
    rig.edit(estate(entry("chat", 8020), entry("embed", 8011)))
    status = rig.run(60)
    assert status.converged
    assert [c.id for c in rig.running("embed")] == [neighbour.id]
    (new,) = rig.running("chat")
    assert new.id != old.id
    assert new.host_ports == (8020,)
    assert [c.state for c in rig.containers("chat")] == [ContainerState.EXITED, ContainerState.RUNNING]


def test_the_cause_names_the_field_that_was_edited() -> None:
    """Given a ready engine, when its port is edited, then the journal gives the port as the cause, old and new."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    causes = {event.cause for event in rig.recorder.events if event.kind == "ActionStarted"}
    assert "port: 8010 -> 8020" in causes


def test_going_back_starts_the_kept_container() -> None:
    """Given an edit that was carried out, when it is taken back, then the kept container is started, not made anew."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (first,) = rig.running("chat")
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    rig.edit(ONE)
    rig.run(60)
    assert [c.id for c in rig.running("chat")] == [first.id]


def test_the_new_container_exists_before_the_old_one_stops() -> None:
    """Given an edit, when it is carried out, then create comes before stop, and stop before start."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.recorder.actions.clear()
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    assert [action for _, action, _ in rig.recorder.actions] == ["create", "stop", "start"]


def test_an_orphan_is_stopped_and_pruned() -> None:
    """Given three engines, when one leaves the estate, then it is stopped and removed and the others stay."""
    rig = MemoryRig(estate(entry("a", 8001), entry("b", 8002), entry("c", 8003)))
    rig.run(60)
    kept = [rig.running(name)[0].id for name in ("a", "b")]
    rig.edit(estate(entry("a", 8001), entry("b", 8002)))
    assert rig.run(60).converged
    assert rig.containers("c") == []
    assert [rig.running(name)[0].id for name in ("a", "b")] == kept


@pytest.mark.parametrize("text", ["estate: []\n", estate(entry("other", 8050))], ids=["empty", "renamed"])
def test_a_mass_removal_is_refused_until_it_is_confirmed(text: str) -> None:
    """Given two running engines, when an edit removes both, then nothing stops and the refusal tells how to allow it."""
    rig = MemoryRig(TWO)
    rig.run(30)
    rig.edit(text)
    status = rig.run(60)
    assert not status.converged
    assert len(rig.running("chat")) == len(rig.running("embed")) == 1
    assert any("allow_prune: [chat, embed]" in p.hint for p in status.problems)
    rig.edit("allow_prune: [chat, embed]\n" + text)
    assert rig.run(60).converged
    assert rig.containers("chat") == rig.containers("embed") == []


@pytest.mark.parametrize(
    "text", ["", "estate:\n  - name: ch", "estate: [\n", "rig: {}\n"], ids=["zero", "half", "open", "no-key"]
)
def test_a_broken_estate_changes_nothing(text: str) -> None:
    """Given ready engines, when the file is empty or half written, then all stay and the problem is said once."""
    rig = MemoryRig(TWO)
    rig.run(30)
    ids = [rig.running(n)[0].id for n in ("chat", "embed")]
    rig.edit(text)
    status = rig.run(60)
    assert [rig.running(n)[0].id for n in ("chat", "embed")] == ids
    assert not status.converged
    assert rig.kinds().count("RevisionRefused") == 1
    rig.edit(TWO)
    assert rig.run(30).converged


def test_a_source_that_cannot_be_read_is_said_once_and_changes_nothing() -> None:
    """Given ready engines, when the folder vanishes, then the engines stay and SourceReady is False."""
    rig = MemoryRig(TWO)
    rig.run(30)
    rig.source.problems = (Problem(Severity.ERROR, "source", "desired does not exist"),)
    status = rig.run(60)
    assert len(rig.running("chat")) == 1
    assert rig.kinds().count("SourceUnreadable") == 1
    assert next(c.status for c in status.conditions if c.type == "SourceReady") == "False"


def test_a_slow_loader_is_not_killed_and_a_stalled_one_is() -> None:
    """Given a boot of 40 minutes that moves and one that stands still, when time passes, then only the second fails."""
    rig = MemoryRig(TWO)
    shards = tuple(Line(f"shard {n} of 100", at_s=n * 24.0) for n in range(100))
    serving = ((0.0, ServePhase.REFUSED), (2400.0, ServePhase.SERVING))
    rig.engine.behave("chat", Script(phases=serving, log=shards))
    rig.engine.behave("embed", Script(phases=((0.0, ServePhase.REFUSED),), log=(Line("loading weights"),)))
    rig.run(2460)
    assert rig.instance("chat").ready
    assert rig.instance("embed").state is State.STALLED
    assert "BootStalled" in rig.instance("embed").why
    assert rig.running("embed") == []
    assert len(rig.containers("embed")) == 1


def test_a_failed_boot_is_not_repeated_until_asked_or_edited() -> None:
    """Given a boot that ends by itself, when time passes, then it is tried once; `start` tries again; an edit does, too."""
    rig = MemoryRig(ONE)
    rig.engine.behave("chat", Script(exits_s=3.0, exit_code=1, log=(Line("error: invalid argument: --wrong"),)))
    rig.run(600)
    starts = [a for a in rig.recorder.actions if a[1] == "start"]
    assert len(starts) == 1
    assert rig.instance("chat").state is State.STALLED
    assert "--wrong" in rig.instance("chat").why
    assert rig.tell(Verb.START, "chat").ok
    rig.run(60)
    assert len([a for a in rig.recorder.actions if a[1] == "start"]) == 2
    rig.engine.behave("chat", Script())
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    assert rig.instance("chat").ready


def test_a_failed_boot_after_an_edit_keeps_the_last_good_container() -> None:
    """Given a good spec, a failed one and a good third one, when it is ready, then the first one is still kept."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (good,) = rig.containers("chat")
    rig.engine.behave("chat", Script(exits_s=1.0, exit_code=1))
    rig.edit(estate(entry("chat", 8020)))
    rig.run(60)
    rig.engine.behave("chat", Script())
    rig.edit(estate(entry("chat", 8030)))
    rig.run(60)
    assert rig.instance("chat").ready
    assert good.id in [c.id for c in rig.containers("chat")]
    assert len(rig.containers("chat")) == 2


def test_an_engine_that_dies_after_ready_is_started_again_with_growing_pauses() -> None:
    """Given an engine that ends 20 s after each start, when time passes, then starts come 10, 20, 40 s after the ends."""
    rig = MemoryRig(ONE)
    rig.engine.behave("chat", Script(exits_s=20.0))
    rig.run(300)
    times = [e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "start"]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert [round(gap - 20) // 10 * 10 for gap in gaps[:3]] == [10, 20, 40]


@pytest.mark.parametrize("hand", ["stop", "kill", "pause", "rename", "remove", "policy"])
def test_what_a_hand_did_is_put_right(hand: str) -> None:
    """Given a ready engine, when somebody changes its container by hand, then after a grace all is as before."""
    rig = MemoryRig(TWO)
    rig.run(30)
    (ours,), (neighbour,) = rig.running("chat"), rig.running("embed")
    change = {
        "stop": lambda: rig.hand.stop(ours.id),
        "kill": lambda: rig.hand.kill(ours.id),
        "pause": lambda: rig.hand.pause(ours.id),
        "rename": lambda: rig.hand.rename(ours.id, "mine-now"),
        "remove": lambda: rig.hand.remove(ours.id),
        "policy": lambda: rig.hand.restart_policy(ours.id, "always"),
    }
    change[hand]()
    rig.run(2, "event")
    status = rig.run(60)
    assert status.converged
    (after,) = rig.running("chat")
    assert after.name.startswith("chat-")
    assert after.state is ContainerState.RUNNING
    assert after.restart_policy == "no"
    assert (after.id == ours.id) == (hand != "remove")
    assert rig.running("embed")[0].id == neighbour.id


def test_two_hands_of_grace() -> None:
    """Given an engine stopped by hand, when four seconds have passed, then it is still left; after ten it runs."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.hand.stop(rig.running("chat")[0].id)
    rig.run(4, "event")
    assert rig.running("chat") == []
    rig.run(6)
    assert len(rig.running("chat")) == 1


def test_a_lost_reply_is_observed_and_not_repeated() -> None:
    """Given a create whose reply is lost, when the next pass looks, then the container is found and not made twice."""
    rig = MemoryRig(ONE)
    rig.engine.faults.append(Fault("create", EngineUnreachable("the reply was lost"), after=True))
    status = rig.run(60)
    assert status.converged
    assert len(rig.containers("chat")) == 1


def test_a_start_that_meets_a_taken_port_waits_and_never_counts_against_the_spec() -> None:
    """Given a port that is taken at the start, when it is free again, then the engine starts; it was never Stalled."""
    rig = MemoryRig(ONE)
    rig.engine.faults.append(Fault("start", PortTaken("port 8010 is already allocated"), times=3))
    rig.run(3)
    assert rig.instance("chat").state is not State.STALLED
    assert rig.run(60).converged


def test_a_foreign_listener_keeps_the_old_engine_serving() -> None:
    """Given a program on the new port, when the port is edited, then the old engine serves and the plan names the program."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (old,) = rig.running("chat")
    rig.hand.listen(8020, process="nginx")
    rig.edit(estate(entry("chat", 8020)))
    status = rig.run(60)
    assert [c.id for c in rig.running("chat")] == [old.id]
    assert any("nginx" in (s.waiting_for or "") and "8020" in (s.waiting_for or "") for s in status.plan.steps)
    assert "chat" not in {k[0] for k in rig.loop.recall.memory().failures}
    rig.hand.release(8020)
    assert rig.run(60).converged
    assert rig.running("chat")[0].id != old.id


def test_a_foreign_container_with_our_name_is_named_and_left() -> None:
    """Given a foreign container with the wanted name, when we would create ours, then nothing is touched and it is named."""
    rig = MemoryRig(ONE)
    rig.run(30)
    name = rig.running("chat")[0].name
    fresh = MemoryRig(ONE)
    foreign = fresh.hand.foreign(name, IMAGE)
    status = fresh.run(60)
    assert [s.waiting_for for s in status.plan.steps if s.action == "create"] == [
        f"name {name} is held by a container that is not ours ({foreign[:12]})"
    ]
    assert [c.id for c in fresh.engine.list()] == [foreign]


def test_a_failed_pull_keeps_the_old_engine() -> None:
    """Given an image that cannot be pulled, when an edit wants it, then the old engine serves and the pull is tried again."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (old,) = rig.running("chat")
    rig.engine.faults.append(Fault("pull", PullFailed("429 too many requests"), times=3))
    rig.engine.add_image("registry.test/new:1", in_registry=True)
    rig.edit(estate(entry("chat", 8010, more="image: 'registry.test/new:1'")))
    rig.run(4)
    assert [c.id for c in rig.running("chat")] == [old.id]
    assert rig.instance("chat").ready
    rig.run(90)
    assert rig.instance("chat").ready
    assert rig.running("chat")[0].id != old.id


def test_an_engine_that_is_down_stops_nothing_and_is_waited_for() -> None:
    """Given ready engines, when Docker does not answer for a while, then no action is taken and it goes on after."""
    rig = MemoryRig(TWO)
    rig.run(30)
    rig.recorder.actions.clear()
    rig.engine.reachable = False
    status = rig.run(120, "relist")
    assert rig.recorder.actions == []
    assert next(c.status for c in status.conditions if c.type == "EngineReachable") == "False"
    rig.engine.reachable = True
    assert rig.run(60).converged


def test_cards_that_cannot_be_read_hold_new_boots_and_leave_running_engines() -> None:
    """Given unreadable cards, when one engine with a card runs and another is new, then the first stays, the second waits."""
    rig = MemoryRig(estate(entry("chat", 8010, gpus="[0]")))
    rig.run(30)
    rig.gpus.fails = "driver not loaded"
    rig.edit(estate(entry("chat", 8010, gpus="[0]"), entry("new", 8011, gpus="[1]"), entry("cpu", 8012)))
    rig.run(60, "relist")
    assert len(rig.running("chat")) == len(rig.running("cpu")) == 1
    assert rig.containers("new") == []
    assert "driver not loaded" in rig.instance("new").why
    rig.gpus.fails = ""
    assert rig.run(60).converged


def test_a_card_passes_from_one_instance_to_another() -> None:
    """Given two engines that swap their cards, when the edit is applied, then both stop before either starts."""
    rig = MemoryRig(estate(entry("a", 8001, gpus="[0]"), entry("b", 8002, gpus="[1]")))
    rig.run(40)
    rig.recorder.actions.clear()
    rig.edit(estate(entry("a", 8001, gpus="[1]"), entry("b", 8002, gpus="[0]")))
    assert rig.run(60).converged
    order = [action for _, action, _ in rig.recorder.actions]
    assert max(n for n, a in enumerate(order) if a == "stop") < min(n for n, a in enumerate(order) if a == "start")


def test_depends_on_waits_for_ready() -> None:
    """Given b depends on a, when both are new, then b starts only after a is ready."""
    rig = MemoryRig(estate(entry("b", 8002, more="depends_on: [a]"), entry("a", 8001)))
    rig.run(60)
    kinds = [(e.instance, e.kind, e.message) for e in rig.recorder.events]
    ready_a = next(n for n, k in enumerate(kinds) if k[:2] == ("a", "InstanceReady"))
    start_b = next(n for n, k in enumerate(kinds) if k == ("b", "ActionStarted", "start"))
    assert ready_a < start_b


def test_stopped_in_the_file_keeps_the_container_and_starts_it_again() -> None:
    """Given a ready engine, when the file says stopped and later running, then the same container ends and begins again."""
    rig = MemoryRig(ONE)
    rig.run(30)
    (ours,) = rig.running("chat")
    rig.edit(estate(entry("chat", 8010, more="state: stopped")))
    assert rig.run(40).converged
    assert rig.instance("chat").state is State.STOPPED
    rig.edit(ONE)
    assert rig.run(40).converged
    assert [c.id for c in rig.running("chat")] == [ours.id]


def test_stop_and_start_by_verb_and_by_time() -> None:
    """Given a ready engine, when it is stopped for ten minutes, then it stays down and starts by itself after them."""
    rig = MemoryRig(ONE)
    rig.run(30)
    assert rig.tell(Verb.STOP, "chat", for_s=600.0, reason="cleaning").ok
    rig.run(300)
    assert rig.running("chat") == []
    assert "cleaning" in rig.instance("chat").why
    rig.run(400)
    assert rig.instance("chat").ready
    rig.tell(Verb.DOWN)
    rig.run(60)
    assert rig.running("chat") == []
    rig.tell(Verb.START, "chat")
    rig.run(60)
    assert rig.instance("chat").ready


def test_a_verb_with_an_unknown_name_changes_nothing() -> None:
    """Given a rig, when a stop names an instance that does not exist, then the reply has a hint and nothing stops."""
    rig = MemoryRig(ONE)
    rig.run(30)
    reply = rig.tell(Verb.STOP, "chta")
    assert not reply.ok
    assert "chat" in reply.message
    rig.run(30)
    assert len(rig.running("chat")) == 1


def test_observe_mode_plans_and_does_nothing() -> None:
    """Given mode observe, when time passes, then a plan stands and no action was taken."""
    rig = MemoryRig(estate(entry("chat", 8010), rig="{mode: observe}"))
    status = rig.run(60)
    assert [s.action for s in status.plan.steps] == ["create", "start", "wait-ready"]
    assert rig.recorder.actions == []


def test_drain_waits_for_requests_up_to_its_limit() -> None:
    """Given an engine with a request that never ends, when it is edited, then it is stopped when the limit has passed."""
    rig = MemoryRig(estate(entry("chat", 8010, more="drain: {limit: 20s, idle_for: 1s}")))
    rig.engine.behave("chat", Script(requests=((10.0, 1),)))
    rig.run(30)
    began = rig.clock.mono
    rig.edit(estate(entry("chat", 8020, more="drain: {limit: 20s, idle_for: 1s}")))
    rig.run(60)
    stop = next(e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "stop")
    assert 20 <= stop - began <= 30


def test_at_most_so_many_engines_boot_at_once() -> None:
    """Given five new engines and two boot slots, when they boot, then never more than two load at the same time."""
    rig = MemoryRig(estate(*(entry(f"e{n}", 8000 + n) for n in range(5))))
    most = 0
    for _ in range(120):
        rig.run(1)
        loading = [c for c in rig.engine.list() if c.running and c.id not in rig.loop.recall.memory().ready_marks]
        most = max(most, len(loading))
    assert most == 2
    assert all(rig.instance(f"e{n}").ready for n in range(5))


def test_the_stagger_separates_boots() -> None:
    """Given a stagger of 15 s, when two engines are new, then the second starts 15 s after the first."""
    rig = MemoryRig(estate(entry("a", 8001), entry("b", 8002), rig="{boot: {stagger: 15s}}"))
    rig.run(60)
    times = [e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "start"]
    assert len(times) == 2
    assert 15 <= times[1] - times[0] <= 20


def test_a_silent_event_stream_costs_one_relist() -> None:
    """Given no event ever arrives, when a container vanishes, then it is missed for one relist at most."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.hand.remove(rig.running("chat")[0].id)
    rig.run(16)
    assert len(rig.containers("chat")) == 1


@pytest.mark.parametrize("keep_store", [True, False], ids=["store", "lost-store"])
def test_a_new_controller_moves_no_healthy_engine(keep_store: bool) -> None:
    """Given ready engines, when the controller is replaced, with or without its store, then no container changes."""
    rig = MemoryRig(TWO)
    rig.run(30)
    ids = [rig.running(n)[0].id for n in ("chat", "embed")]
    again = rig.reborn(keep_store=keep_store)
    status = again.run(60)
    assert status.converged
    assert [again.running(n)[0].id for n in ("chat", "embed")] == ids
    assert again.recorder.actions == []
    assert any(c.type == "HistoryLost" for c in status.conditions) == (not keep_store)


def test_an_invalid_file_at_start_keeps_the_accepted_revision_in_force() -> None:
    """Given an accepted revision in the store, when a new controller finds a broken file, then it still corrects drift."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.source.text = "estate: ["
    again = rig.reborn()
    again.source.text = "estate: ["
    again.hand.remove(again.running("chat")[0].id)
    again.run(60)
    assert len(again.running("chat")) == 1


def test_an_unknown_error_in_an_action_backs_off() -> None:
    """Given Docker refuses a start for reasons of its own, when it is retried, then the pauses grow."""
    rig = MemoryRig(ONE)
    rig.engine.faults.append(Fault("start", EnvironmentFault("the disk is full"), times=100))
    rig.run(100)
    times = [e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "start"]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(times) <= 9
    assert gaps == sorted(gaps)


def test_a_drain_that_waits_for_a_port_has_not_begun() -> None:
    """Given an edit to a port that a program holds for long, when it is freed, then the open request still gets its drain."""
    rig = MemoryRig(estate(entry("chat", 8010, more="drain: {limit: 30s, idle_for: 1s}")))
    rig.engine.behave("chat", Script(requests=((10.0, 1),)))
    rig.run(30)
    rig.hand.listen(8020, process="nginx")
    rig.edit(estate(entry("chat", 8020, more="drain: {limit: 30s, idle_for: 1s}")))
    rig.run(120)
    assert rig.instance("chat").state is State.READY
    rig.hand.release(8020)
    freed = rig.clock.mono
    rig.run(90)
    stop = next(e.at.mono for e in rig.recorder.events if e.kind == "ActionStarted" and e.message == "stop")
    assert stop - freed >= 30


def test_a_stop_of_an_earlier_process_is_no_hand() -> None:
    """Given an engine stopped by verb, when another controller lifts the stop, then it starts at once and not as drift."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.tell(Verb.STOP, "chat")
    rig.run(30)
    again = rig.reborn()
    again.step()
    again.tell(Verb.START, "chat")
    again.run(2)
    starts = [e for e in again.recorder.events if e.kind == "ActionStarted" and e.message == "start"]
    assert [e.cause for e in starts] == ["container: exited with code 143 -> running"]


def test_start_without_names_lifts_every_stop() -> None:
    """Given a rig that is down, when everything is started, then every wanted engine is ready again."""
    rig = MemoryRig(TWO)
    rig.run(30)
    rig.tell(Verb.DOWN)
    rig.run(60)
    assert rig.running("chat") == rig.running("embed") == []
    assert rig.tell(Verb.START).ok
    assert rig.run(60).converged


def test_an_adopted_engine_is_ready_from_the_first_pass() -> None:
    """Given a ready engine, when a new controller looks for the first time, then it does not call it Degraded."""
    rig = MemoryRig(ONE)
    rig.run(60)
    again = rig.reborn()
    again.step()
    assert again.instance("chat").ready
    assert again.instance("chat").state is State.READY
