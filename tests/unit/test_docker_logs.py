"""Log answers in all their forms become short, printable lines."""

from __future__ import annotations

from collections.abc import Iterator

from controller.adapters.docker.logs import tail_of
from controller.model.log_line import clean_line

T = "2026-11-30T07:29:41.68001616%dZ "


def frame(text: str, stream: int = 1) -> bytes:
    """One entry as a container without a terminal sends it."""
    data = text.encode()
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """The answer, cut anywhere."""
    return (data[begin : begin + size] for begin in range(0, len(data), size))


def test_frames_of_both_streams_are_joined_wherever_the_answer_is_cut() -> None:
    """Pieces of 1, 7 or all bytes give the same tail."""
    data = frame(T % 1 + "out\n") + frame(T % 2 + "err\n", 2) + frame(T % 3 + "no newline")
    tails = [tail_of(pieces(data, size), 10, 65536) for size in (1, 7, len(data))]
    assert tails[0].lines == ("out", "err", "no newline")
    assert tails[0] == tails[1] == tails[2]


def test_a_log_of_a_terminal_has_no_frames() -> None:
    """It comes as plain lines."""
    assert tail_of(pieces((T % 1 + "tty\r\n" + T % 2 + "two\r\n").encode(), 5), 10, 65536).lines == ("tty", "two")


def test_a_long_line_in_several_entries_is_one_line_again() -> None:
    """Docker cuts at 16 KiB and stamps each part."""
    data = frame(T % 1 + "x" * 10) + frame(T % 1 + "y" * 10 + "\n") + frame(T % 2 + "next\n")
    assert tail_of(iter([data]), 10, 65536).lines == ("x" * 10 + "y" * 10, "next")


def test_the_other_stream_does_not_run_into_an_open_line() -> None:
    """A prompt without a newline on stdout, then an error on stderr: two lines."""
    data = frame(T % 1 + "loading...") + frame(T % 2 + "Traceback\n", 2)
    assert tail_of(iter([data]), 10, 65536).lines == ("loading...", "Traceback")


def test_a_progress_bar_becomes_lines() -> None:
    """Each carriage return ends one state of the bar; only the last ones are kept."""
    data = frame(T % 1 + "Loading:   0%\rLoading:  50%\rLoading: 100%\n")
    assert tail_of(iter([data]), 2, 65536).lines == ("Loading:  50%", "Loading: 100%")


def test_nothing_that_a_terminal_obeys_comes_through() -> None:
    """Colours, titles, bells, cursor moves, nulls and direction marks are gone; letters of any script stay."""
    hostile = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x07\x00ok\x1b[2J \u202eevil \x9bA größe 日本\tx"
    assert clean_line(hostile) == "red ok evil A größe 日本    x"


def test_bytes_that_are_no_text_do_not_break_the_tail() -> None:
    """An engine may print anything."""
    raw = b"\xff\xfe bad \xc3\n"
    data = bytes([1, 0, 0, 0]) + len(raw).to_bytes(4, "big") + raw
    assert tail_of(iter([data]), 10, 65536).lines == ("\ufffd\ufffd bad \ufffd",)


def test_only_the_end_is_held() -> None:
    """However much the engine sends, the tail is bounded in bytes, in lines and in the length of a line."""
    data = b"".join(frame(T % 1 + f"line {number} " + "x" * 5000 + "\n") for number in range(200))
    tail = tail_of(pieces(data, 4096), 60, 20_000)
    assert len(tail.lines) <= 5
    assert all(len(line) == 2000 for line in tail.lines[1:])
    assert tail.lines[-1].startswith("line 199 ")


def test_the_mark_moves_with_text_and_with_time() -> None:
    """The same words at a later time are a sign of life, too."""
    one = tail_of(iter([frame(T % 1 + "a\n")]), 5, 65536).mark
    same = tail_of(iter([frame(T % 1 + "a\n")]), 5, 65536).mark
    later = tail_of(iter([frame(T % 2 + "a\n")]), 5, 65536).mark
    other = tail_of(iter([frame(T % 1 + "b\n")]), 5, 65536).mark
    assert one == same
    assert len({one, later, other}) == 3


def test_an_empty_answer_is_an_empty_tail() -> None:
    """A container that never ran."""
    assert tail_of(iter(()), 5, 65536).lines == ()
