"""The invariants of the rig under arbitrary edits, hands, faults and deaths of the controller, on an engine in memory."""

from __future__ import annotations

import os
from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from controller.errors import EnvironmentFault
from controller.model.plan import WAITS
from controller.simulation.faults import Fault
from tests.loop.meddling import CALLS, FOREIGN, HANDS, Accident, Wish, Wishes, calm, check, meddle, text
from tests.loop.rig import IMAGE, LOADS_5_S, MemoryRig

NAMES = ("a", "b", "c")
STORIES = int(os.environ.get("STEWARD_STORIES", "20"))
"""Stories that each property sees: few in `make check`, many in `make test`."""
SETTINGS = settings(
    max_examples=STORIES, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)

wishes = st.builds(Wish, st.sampled_from([4096, 8192]), st.sampled_from([None, 0, 1, 2]), st.booleans())
estates = st.fixed_dictionaries({name: st.none() | wishes for name in NAMES})
accidents = st.one_of(
    st.builds(Accident, st.just("hand"), st.sampled_from(HANDS), st.sampled_from(NAMES)),
    st.builds(
        Accident,
        st.just("fault"),
        st.sampled_from(CALLS),
        st.sampled_from(["before", "after", "hangs", "hangs after"]),
        st.integers(1, 2),
    ),
    st.builds(Accident, st.just("stale"), times=st.integers(1, 8)),
    st.builds(Accident, st.just("reborn"), st.sampled_from(["with its store", "without"])),
    st.builds(Accident, st.sampled_from(["silent", "cards", "none"])),
)
stories = st.lists(st.tuples(estates, accidents, st.integers(1, 40)), min_size=1, max_size=5)
Story = list[tuple[Wishes, Accident, int]]


@SETTINGS
@given(stories)
def test_the_rig_converges_after_any_story(story: Story) -> None:
    """Given any edits, hands, lost replies and deaths, when calm returns, then the rig is as the last estate says."""
    rig = MemoryRig(text(dict.fromkeys(NAMES)))
    rig.hand.foreign(FOREIGN, IMAGE, port=9999)
    rig.always = check
    for wanted, accident, seconds in story:
        rig.edit(text(wanted))
        rig = meddle(rig, accident)
        rig.run(seconds)
    calm(rig)
    status = rig.run(2000)
    assert status.converged, [(s.id, s.waiting_for) for s in status.plan.steps]
    last = story[-1][0]
    assert {c.identity.instance for c in rig.seen() if c.identity} <= {n for n in NAMES if last[n]}, "an orphan is left"
    assert {n for n in NAMES if rig.running(n)} == {n for n, wish in last.items() if wish and not wish.stopped}
    before = list(rig.recorder.actions)
    rig.run(60)
    assert rig.recorder.actions == before, "a converged rig was acted on"


@SETTINGS
@given(estates, estates)
def test_a_neighbour_keeps_its_container(before: Wishes, after: Wishes) -> None:
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
def test_unknown_never_destroys(wanted: Wishes, blind: str) -> None:
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
def test_a_plan_is_done_by_doing_it(story: Story) -> None:
    """Given any moment of any story, when the plan is made twice, then it is the same and its frontier only has effects."""
    rig = MemoryRig(text(dict.fromkeys(NAMES)))
    rig.hand.foreign("foreign", IMAGE)
    rig.engine.behave("b", replace(LOADS_5_S, exits_s=30.0))
    for wanted, _, seconds in story:
        rig.edit(text(wanted))
        status = rig.run(seconds)
        assert all(step.action not in WAITS for step in status.plan.frontier())
        assert all(step.cause.field for step in status.plan.steps), "an action without a cause"
        ids = [step.id for step in status.plan.steps]
        assert len(ids) == len(set(ids)), "two steps with one id"
        assert all(set(step.after) <= set(ids) for step in status.plan.steps)
