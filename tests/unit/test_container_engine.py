"""The simulated container engine on scripts: how its calls fail, how long they take, and how its containers end."""

from __future__ import annotations

import threading

import pytest

from controller.errors import EngineUnreachable, GpuUnavailable, NameTaken, PortTaken, PullFailed, SpecFault
from controller.model.observed import ContainerState
from controller.model.profile import DialectName
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.engine.script import Change, Line, Script
from controller.simulation.faults import Fault
from controller.simulation.hand import SimulatedHand
from controller.simulation.memory_world import MemoryClock, MemoryWorkers
from controller.simulation.process import Order
from controller.simulation.scripted import ScriptedProcess, ScriptedProcesses
from tests.unit.simulating import started


def test_a_lost_reply_leaves_the_effect(engine: SimulatedEngine) -> None:
    """The fault comes after the effect: the caller knows nothing, the engine did it."""
    made = started(engine)
    engine.faults.append(Fault("stop", EngineUnreachable("reply lost"), after=True))
    with pytest.raises(EngineUnreachable):
        engine.stop(made, 5)
    assert engine.list()[0].state is ContainerState.EXITED


def test_a_fault_before_the_effect_leaves_nothing(engine: SimulatedEngine) -> None:
    """It holds for as many calls as it says, and only for its subject."""
    engine.faults.append(Fault("pull", PullFailed("rate limited"), subject="y:", times=2))
    engine.add_image("y:1", in_registry=True)
    engine.add_image("z:1", in_registry=True)
    for _ in range(2):
        with pytest.raises(PullFailed, match="rate limited"):
            engine.pull("y:1", lambda _text: None)
    assert engine.inspect("y:1") is None
    assert engine.pull("z:1", lambda _text: None).tags == ("z:1",)
    assert engine.pull("y:1", lambda _text: None).tags == ("y:1",)


def test_a_call_that_hangs_takes_its_time(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a bound of 60 s on a dead line, when a call meets it, then the clock is 60 s further when it fails."""
    began = clock.mono
    engine.faults.append(Fault("inspect", EngineUnreachable("no answer within 60 s"), takes_s=60.0))
    with pytest.raises(EngineUnreachable):
        engine.inspect("x:1")
    assert clock.mono == began + 60


def test_a_slow_pull_has_its_image_at_its_end(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a pull of 90 s on a lane, when somebody looks meanwhile, then the image is not there yet."""
    engine.add_image("y:1", in_registry=True)
    engine.faults.append(Fault("pull", takes_s=90.0))
    workers = MemoryWorkers(clock)
    workers.submit("pull", "1", lambda: engine.pull("y:1", lambda _text: None))
    clock.advance(89)
    assert engine.inspect("y:1") is None
    assert workers.collect() == ()
    clock.advance(1)
    assert engine.inspect("y:1") is not None
    assert len(workers.collect()) == 1


def test_a_stale_list_is_the_last_one(engine: SimulatedEngine) -> None:
    """Given a list that was asked once, when the next two are stale, then they show what it showed, and the third the truth."""
    made = started(engine)
    before = engine.list()
    engine.faults.append(Fault("list", stale=True, times=2))
    engine.stop(made, 5)
    assert engine.list() == before
    assert engine.list() == before
    assert engine.list()[0].state is ContainerState.EXITED


def test_a_list_that_was_never_asked_is_not_stale(engine: SimulatedEngine) -> None:
    """Given a stale answer before there was any, then the truth is told: an engine with containers is never an empty one."""
    engine.faults.append(Fault("list", stale=True))
    made = started(engine)
    assert [container.id for container in engine.list()] == [made]


def test_a_silent_stream_tells_nothing_not_even_later(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a stream that is silent for 20 s, when it speaks again, then it tells of what happens from then on."""
    told: list[str] = []
    engine.silent_until = clock.wall + 20
    made = started(engine)
    assert not engine.has_news()
    engine.follow(told.append, lambda: False)
    assert told == []
    clock.advance(20)
    engine.stop(made, 5)
    assert engine.has_news()
    engine.follow(told.append, lambda: False)
    assert told == ["docker-kill", "docker-die", "docker-stop"]


def test_a_stop_on_a_lane_ends_at_its_moment(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given an engine that is deaf to TERM, when a lane stops it, then it runs until its grace is over, whoever looks."""
    engine.behave("chat", Script(ignore_term=True))
    made = started(engine)
    workers, began = MemoryWorkers(clock), clock.now()
    workers.submit("chat", "1", lambda: engine.stop(made, 30))
    assert workers.next_at() == began.mono + 30
    clock.advance(29)
    assert engine.list()[0].running
    assert workers.busy("chat")
    clock.advance(5)
    (ended,) = engine.list()
    assert (ended.exit_code, ended.finished_at) == (137, began.wall + 30)
    assert [event.action for event in engine.cells.events][-3:] == ["kill", "die", "stop"]
    assert [finished.error for finished in workers.collect()] == [None]


def test_a_stop_at_once_moves_the_clock(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given an engine with a request that never ends, when it is stopped, then its drain and its end take time."""
    engine.default = Script(requests=1, drain_s=7.0, term_s=2.0)
    made = started(engine)
    began = clock.mono
    engine.stop(made, 30)
    assert clock.mono == pytest.approx(began + 9)
    assert (engine.list()[0].running, engine.list()[0].exit_code) == (False, 0)


def test_a_drain_ends_with_the_last_request(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given requests that are over 4 s after TERM, when the drain may take longer, then the engine ends with them."""
    engine.default = Script(requests=1, drain_s=60.0, changes=(Change(10.0, {"requests": 0}),))
    made = started(engine)
    clock.advance(6)
    began = clock.mono
    engine.stop(made, 90)
    assert clock.mono == pytest.approx(began + 4)


def test_a_pause_stops_the_clock_of_a_run(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a run of 10 s, when it is paused for 100 s in the middle, then it ends 5 s after it runs on."""
    engine.default = Script(exits_s=10.0, exit_code=3)
    made = started(engine)
    clock.advance(5)
    SimulatedHand(engine).pause(made)
    clock.advance(100)
    assert engine.list()[0].state is ContainerState.PAUSED
    engine.unpause(made)
    clock.advance(4)
    assert engine.list()[0].running
    clock.advance(2)
    (ended,) = engine.list()
    assert ended.exit_code == 3
    assert ended.finished_at == pytest.approx(clock.wall - 1)


def test_a_change_holds_from_now_on(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a running engine, when its script is changed, then it does that, and its next start as well."""
    made = started(engine)
    clock.advance(50)
    engine.change("chat", Script(exits_s=60.0, exit_code=9, exit_log="CUDA error: an illegal memory access"))
    assert engine.list()[0].running
    clock.advance(11)
    (ended,) = engine.list()
    assert ended.exit_code == 9
    assert engine.tail(made, 1).lines == ("CUDA error: an illegal memory access",)
    engine.start(made)
    clock.advance(61)
    assert engine.list()[0].exit_code == 9


def test_flags_and_variables_of_the_container_win(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a script for the instance, when its container has flags of its own, then they hold, also after a change."""
    engine.behave("chat", Script(exits_s=100.0))
    started(engine, argv=("--sim-exits-s", "20", "--sim-exit-code", "4"))
    engine.change("chat", Script(exits_s=200.0))
    clock.advance(21)
    assert engine.list()[0].exit_code == 4


def test_a_wrong_flag_ends_the_run_at_once(engine: SimulatedEngine) -> None:
    """Given a flag that the engine does not know, when it starts, then it says so and exits with 2."""
    made = started(engine, argv=("--no-such-flag",))
    assert engine.list()[0].exit_code == 2
    assert "--no-such-flag" in engine.tail(made, 5).lines[-1]


def test_an_engine_that_is_away_forgets_nothing(engine: SimulatedEngine) -> None:
    """Its containers run on."""
    made = started(engine)
    engine.reachable = False
    with pytest.raises(EngineUnreachable):
        engine.list()
    engine.reachable = True
    assert engine.list()[0].id == made


def test_cards_need_a_driver(engine: SimulatedEngine) -> None:
    """Without one the container is created and does not start."""
    engine.cells.gpu_driver = False
    with pytest.raises(GpuUnavailable):
        started(engine, gpus=("GPU-0",))
    assert engine.list()[0].state is ContainerState.CREATED


def test_a_script_may_refuse_to_start(engine: SimulatedEngine) -> None:
    """As a bad mount or user would."""
    engine.behave("chat", Script(refuses="unable to find user nosuch"))
    with pytest.raises(SpecFault, match="nosuch"):
        started(engine)
    assert engine.list()[0].error == "unable to find user nosuch"


def test_ports_clash_only_where_addresses_meet(engine: SimulatedEngine) -> None:
    """Loopback and a LAN address are two places; 0.0.0.0 is everywhere."""
    hand = SimulatedHand(engine)
    hand.foreign("web", "x:1", port=8010, bind="192.0.2.7")
    made = started(engine)
    engine.stop(made, 5)
    hand.listen(8010, address="0.0.0.0")
    with pytest.raises(PortTaken):
        engine.start(made)


def test_a_restart_of_the_engine_ends_all_and_blames_nobody(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Every container is down, and there is no evidence of a hand."""
    made = started(engine)
    SimulatedHand(engine).restart_engine()
    assert engine.list()[0].state is ContainerState.EXITED
    assert engine.hand_signal(made, clock.wall - 5, clock.wall + 5) is None


def test_hands_cannot_take_a_taken_name_either(engine: SimulatedEngine) -> None:
    """Names are unique for everybody."""
    started(engine)
    with pytest.raises(NameTaken):
        SimulatedHand(engine).foreign(engine.list()[0].name, "x:1")


def lines(engine: SimulatedEngine, container: str) -> tuple[str, ...]:
    """All that it has printed by now."""
    return engine.tail(container, 1000).lines


def test_phrases_come_over_the_load_and_a_stall_cuts_them(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a load of 100 s that stalls in its middle, when time passes, then half of the phrases are there."""
    engine.default = Script(load_s=100.0, stall_s=50.0)
    made = started(engine)
    assert lines(engine, made) == ("loading model: 0 %",)
    clock.advance(25)
    assert lines(engine, made)[-1] == "loading model: 20 %"
    clock.advance(1000)
    assert lines(engine, made)[-1] == "loading model: 40 %"


def test_an_open_line_counts_when_the_run_is_over(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given llama.cpp's row of dots, when it dies in the middle, then the dots are there and its last words."""
    engine.default = Script(load_s=100.0, exits_s=30.0, exit_log="error loading model: bad magic")
    made = started(engine, dialect=DialectName.LLAMACPP)
    clock.advance(29)
    assert "." * 5 not in lines(engine, made)[-1]
    clock.advance(2)
    assert lines(engine, made)[-2:] == ("." * 15, "error loading model: bad magic")


def test_a_changed_log_goes_on_from_where_it_was(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given a log of its own, when another holds from 10 s on, then what was said stays and what is past is skipped."""
    engine.default = Script(log=(Line("one"), Line("never", at_s=20.0)))
    made = started(engine)
    clock.advance(10)
    engine.change("chat", Script(log=(Line("skipped", at_s=5.0), Line("two", at_s=15.0))))
    clock.advance(30)
    assert lines(engine, made) == ("one", "two")


def test_the_log_of_earlier_runs_stays(engine: SimulatedEngine, clock: MemoryClock) -> None:
    """Given two runs of one container, then its log has both, as Docker's has."""
    engine.default = Script(log=(Line("began"),))
    made = started(engine)
    engine.stop(made, 5)
    engine.start(made)
    assert lines(engine, made) == ("began", "began")


class Held(ScriptedProcess):
    """A process whose stop takes until somebody lets it go."""

    stopping = threading.Event()
    let_go = threading.Event()

    def stop(self, term_s: float) -> None:
        """TERM, when it is let go."""
        self.stopping.set()
        assert self.let_go.wait(30)
        super().stop(term_s)


class HeldProcesses(ScriptedProcesses):
    """Starts them."""

    def __init__(self, clock: MemoryClock) -> None:
        super().__init__(clock)
        self.clock = clock

    def start(self, order: Order) -> Held:
        """Begin a run."""
        return Held(self.clock, order, 77)


def test_a_stop_under_way_holds_up_no_other_call(clock: MemoryClock) -> None:
    """Given a thread that waits for a process to end, when others list, read and start, then they need not wait."""
    engine = SimulatedEngine(clock, HeldProcesses(clock))
    engine.add_image("x:1")
    deaf = started(engine, "deaf", port=8010)
    thread = threading.Thread(target=engine.stop, args=(deaf, 30.0), daemon=True)
    thread.start()
    assert Held.stopping.wait(30)
    other = started(engine, "other", port=8011)
    assert [container.running for container in engine.list()] == [True, True]
    assert lines(engine, other)
    engine.follow(lambda _text: None, lambda: False)
    Held.let_go.set()
    thread.join(30)
    assert not thread.is_alive()
    assert [container.running for container in engine.list()] == [True, False]
