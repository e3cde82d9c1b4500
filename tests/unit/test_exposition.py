"""The reader of engines' metrics pages: sums over labels, and never fails on what it does not understand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.dialects.exposition import MAX_LINE, MAX_NAMES, first, samples

PAGE = """\
# HELP vllm:num_requests_running Number of requests
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a"} 2.0
vllm:num_requests_running{engine="1",model_name="a"} 3.0
vllm:generation_tokens_total{model_name="odd \\"} name, {x}"} 1.5e+03 1712000000000
llamacpp:n_decode_total 42
with_space {a="b"}  7
process_start_time_seconds 1.7e9\r
"""


def test_samples_are_summed_over_labels() -> None:
    """Given a page with labels, timestamps and odd label values, when it is read, then each name has its sum."""
    assert samples(PAGE) == {
        "vllm:num_requests_running": 5.0,
        "vllm:generation_tokens_total": 1500.0,
        "llamacpp:n_decode_total": 42.0,
        "with_space": 7.0,
        "process_start_time_seconds": 1.7e9,
    }


def test_malformed_lines_and_no_numbers_are_left_out() -> None:
    """Given lines that are no samples and values that are no numbers, when they are read, then only the good one is there."""
    page = 'a NaN\nb +Inf\nc -Inf\nd\n{x} 1\n9e 1\nname5\ne x\nf{a="b" 1\n\n<html>\ngood 1\ng 1 2 3\ng{} '
    assert samples(page) == {"good": 1.0}


def test_a_page_of_rubbish_is_bounded() -> None:
    """Given more names than any engine has and a line without end, when they are read, then the result is bounded."""
    page = "\n".join(f"n{number} 1" for number in range(MAX_NAMES + 100)) + "\nn0 2\n"
    found = samples(page)
    assert len(found) == MAX_NAMES
    assert found["n0"] == 3.0
    assert samples("x" + " " * MAX_LINE + "1") == {}


@given(st.text(max_size=300))
def test_no_text_makes_it_fail(text: str) -> None:
    """Given any text, when it is read, then the answer is a mapping of names to finite numbers."""
    assert all(value == value and abs(value) != float("inf") for value in samples(text).values())


def test_the_first_name_that_is_there_counts() -> None:
    """Given an old and a new name, when both or one or none are there, then the newer one comes first."""
    assert first({"new": 1.0, "old": 2.0}, "new", "old") == 1.0
    assert first({"old": 2.0}, "new", "old") == 2.0
    assert first({}, "new", "old") is None
