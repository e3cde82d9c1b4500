"""Our counters never go down, whatever the engines' counters do, and they lose nothing that was seen."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controller.model.observed import EngineMetrics
from observability.tally import Tally
from tests.unit.shown import CHAT, FINE

READINGS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.one_of(st.none(), st.just(float("nan")), st.just(-1.0), st.integers(0, 10**9).map(float)),
    ),
    max_size=40,
)


def tell(tally: Tally, container: str, tokens: float | None) -> float | None:
    """Show one reading; our counter after it."""
    tally.show(replace(FINE, instances=(replace(CHAT, engine_id=container, metrics=EngineMetrics(generation_tokens=tokens)),)))
    return tally.totals().tokens.get(("chat", "generation"))


@given(READINGS)
def test_token_counters_never_go_down(readings: list[tuple[str, float | None]]) -> None:
    """Given any readings of any containers, when they are followed, then the counter that is told never goes down."""
    tally, before = Tally(), 0.0
    for container, tokens in readings:
        total = tell(tally, container, tokens)
        if total is not None:
            assert total >= before
            before = total


@given(READINGS)
def test_a_reading_that_is_not_there_is_not_told(readings: list[tuple[str, float | None]]) -> None:
    """Given any readings, when one is missing or no count, then no total is told for it; else one is."""
    tally = Tally()
    for container, tokens in readings:
        total = tell(tally, container, tokens)
        assert (total is not None) == (tokens is not None and tokens >= 0)


@given(st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=8), min_size=1, max_size=8))
def test_every_token_that_was_seen_is_counted_once(lives: list[list[int]]) -> None:
    """Given engines that each count up from zero, when one follows another, then the total is the sum of their last counts."""
    tally, total = Tally(), 0.0
    for number, life in enumerate(lives):
        for tokens in sorted(life):
            total = tell(tally, f"container-{number}", float(tokens)) or 0.0
    assert total == sum(max(life) for life in lives)
