"""The invariants of the rig under arbitrary edits, hands, faults and deaths of the controller, on an engine in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from controller.errors import EngineUnreachable, EnvironmentFault
from controller.model.plan import WAITS
from controller.simulation.memory_engine import Fault
from controller.simulation.script import Script
from tests.loop.rig import IMAGE, MemoryRig, entry, estate

NAMES = ("a", "b", "c")
CALLS = ("create", "start", "stop", "remove", "list", "inspect")
SETTINGS = settings(
    max_examples=60, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)


@dataclass(frozen=True)
class Wish:
    """What a version of the estate says of one instance; None in its place: it is not there."""

    context: int
    card: int | None
    stopped: bool


wishes = st.builds(Wish, st.sampled_from([4096, 8192]), st.sampled_from([None, 0, 1, 2]), st.booleans())
estates = st.fixed_dictionaries({name: st.none() | wishes for name in NAMES})
accidents = st.one_of(
    st.tuples(st.just("hand"), st.sampled_from(["kill", "stop", "pause", "rename", "remove", "crash"]), st.sampled_from(NAMES)),
    st.tuples(st.just("fault"), st.sampled_from(CALLS), st.booleans()),
    st.tuples(st.just("reborn"), st.booleans(), st.just("")),
    st.tuples(st.just("cards"), st.booleans(), st.just("")),
    st.tuples(st.just("none"), st.just(""), st.just("")),
)
stories = st.lists(st.tuples(estates, accidents, st.integers(1, 40)), min_size=1, max_size=5)


def text(wanted: dict[str, Wish | None]) -> str:
    """The estate that says so; removals are always confirmed, a card that two want goes to the first."""
    entries, taken = [], set()
    for number, (name, wish) in enumerate(wanted.items()):
        if wish is None:
            continue
        card = wish.card if wish.card not in taken else None
        taken.add(card)
        more = f"set: {{max_model_len: {wish.context}}}, state: {'stopped' if wish.stopped else 'running'}"
        entries.append(entry(name, 8000 + number, gpus=f"[{card}]" if card is not None else "[]", more=more))
    return f"allow_prune: [{', '.join(NAMES)}]\n" + estate(*entries)


def meddle(rig: MemoryRig, accident: tuple[str, object, object]) -> MemoryRig:
    """Let one accident happen; the controller that goes on."""
    kind, what, who = accident
    if kind == "hand":
        for container in rig.running(str(who)):
            extra = (f"moved-{container.id[:8]}",) if what == "rename" else ()
            getattr(rig.hand, str(what))(container.id, *extra)
    elif kind == "fault":
        rig.engine.faults.append(Fault(str(what), EngineUnreachable("lost"), after=bool(who), times=2))
    elif kind == "cards":
        rig.gpus.fails = "driver not loaded" if what else ""
    elif kind == "reborn":
        return rig.reborn(keep_store=bool(what))
    return rig


def check(rig: MemoryRig) -> None:
    """What holds at every moment."""
    containers = rig.seen()
    running = [c for c in containers if c.running and c.identity]
    doubled = [name for name, count in Counter(c.identity.instance for c in running if c.identity).items() if count > 1]
    assert doubled == [], "two containers of one instance run"
    cards = [uuid for c in running if c.identity for uuid in c.identity.gpus]
    assert len(cards) == len(set(cards)), "a card is claimed twice"
    assert any(c.name == "foreign" and c.running for c in containers), "a foreign container was touched"


@SETTINGS
@given(stories)
def test_the_rig_converges_after_any_story(story: list[tuple[dict[str, Wish | None], tuple[str, object, object], int]]) -> None:
    """Given any edits, hands, lost replies and deaths, when calm returns, then the rig is as the last estate says."""
    rig = MemoryRig(text(dict.fromkeys(NAMES)))
    rig.hand.foreign("foreign", IMAGE, port=9999)
    for wanted, accident, seconds in story:
        rig.edit(text(wanted))
        rig = meddle(rig, accident)
        for _ in range(seconds):
            rig.run(1, "event")
            check(rig)
    rig.engine.faults.clear()
    rig.gpus.fails = ""
    status = rig.run(2000, "relist")
    check(rig)
    assert status.converged, [(s.id, s.waiting_for) for s in status.plan.steps]
    last = story[-1][0]
    assert {c.identity.instance for c in rig.seen() if c.identity} <= {n for n in NAMES if last[n]}, "an orphan is left"
    assert {n for n in NAMES if rig.running(n)} == {n for n, wish in last.items() if wish and not wish.stopped}
    before = list(rig.recorder.actions)
    rig.run(60, "relist")
    assert rig.recorder.actions == before, "a converged rig was acted on"


@SETTINGS
@given(estates, estates)
def test_a_neighbour_keeps_its_container(before: dict[str, Wish | None], after: dict[str, Wish | None]) -> None:
    """Given any edit of others, when it is applied, then an instance whose entry did not change keeps its container."""
    same = Wish(4096, 3, stopped=False)
    rig = MemoryRig(text({**before, "keeps": same}))
    rig.run(200)
    (ours,) = rig.running("keeps")
    rig.edit(text({**after, "keeps": same}))
    rig.run(200)
    assert [c.id for c in rig.running("keeps")] == [ours.id]


@SETTINGS
@given(estates, st.sampled_from(["list", "cards", "images"]))
def test_unknown_never_destroys(wanted: dict[str, Wish | None], blind: str) -> None:
    """Given a reading that fails for good, when the estate changes to anything, then nothing running is stopped by it."""
    start = {"a": Wish(4096, 0, stopped=False), "b": Wish(4096, None, stopped=False), "c": None}
    rig = MemoryRig(text(start))
    rig.run(60)
    ids = {c.id for c in rig.seen() if c.running}
    rig.recorder.actions.clear()
    if blind == "list":
        rig.engine.reachable = False
        rig.edit(text(wanted))
        rig.run(100, "relist")
        assert rig.recorder.actions == []
        rig.engine.reachable = True
    else:
        call = Fault("inspect", EnvironmentFault("timed out"), times=10_000)
        rig.gpus.fails = "driver not loaded" if blind == "cards" else ""
        if blind == "images":
            rig.engine.faults.append(call)
        rig.run(100, "relist")
    assert {c.id for c in rig.seen() if c.running} == ids


@SETTINGS
@given(stories)
def test_a_plan_is_done_by_doing_it(story: list[tuple[dict[str, Wish | None], tuple[str, object, object], int]]) -> None:
    """Given any moment of any story, when the plan is made twice, then it is the same and its frontier only has effects."""
    rig = MemoryRig(text(dict.fromkeys(NAMES)))
    rig.hand.foreign("foreign", IMAGE)
    rig.engine.behave("b", Script(exits_s=30.0))
    for wanted, _, seconds in story:
        rig.edit(text(wanted))
        status = rig.run(seconds)
        assert all(step.action not in WAITS for step in status.plan.frontier())
        assert all(step.cause.field for step in status.plan.steps), "an action without a cause"
        ids = [step.id for step in status.plan.steps]
        assert len(ids) == len(set(ids)), "two steps with one id"
        assert all(set(step.after) <= set(ids) for step in status.plan.steps)
