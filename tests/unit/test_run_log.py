"""What is kept of a program's output: whole lines, fit for a terminal, and never more than a bound."""

from __future__ import annotations

import pytest

from controller.simulation.run_log import CHARACTERS, LINES, OPEN_BYTES, RunLog


def fed(*pieces: bytes) -> RunLog:
    """A log that was written in these pieces."""
    log = RunLog()
    for piece in pieces:
        log.feed(piece)
    return log


def test_a_line_shows_when_it_has_ended() -> None:
    """Given output that comes in pieces, when a newline ends a line, then it shows, and what follows it does not yet."""
    log = fed(b"on", b"e\ntw")
    assert log.lines() == ("one",)
    log.feed(b"o\n")
    assert log.lines() == ("one", "two")


def test_the_open_line_shows_at_the_end() -> None:
    """Given a last line without a newline, when the program is over, then it counts."""
    log = fed(b"loading\n.....")
    assert log.lines() == ("loading",)
    log.end()
    assert log.lines() == ("loading", ".....")
    log.end()
    assert log.lines() == ("loading", ".....")


@pytest.mark.parametrize("pieces", [(b"gr\xc3", b"\xb6\xc3\x9fe\n"), ("größe\n".encode(),)])
def test_letters_may_be_cut_in_two(pieces: tuple[bytes, ...]) -> None:
    """Given a letter whose bytes come in two pieces, when its line ends, then it is whole."""
    assert fed(*pieces).lines() == ("größe",)


def test_what_a_terminal_obeys_is_gone() -> None:
    """Given colours, progress bars and bytes that are no text, when they are read, then plain lines are left."""
    log = fed(b"\x1b[31mred\x1b[0m\n 10%\r 20%\r\n\n\xff\n")
    assert log.lines() == ("red", " 10%", " 20%", "\ufffd")


def test_only_so_many_lines_are_kept() -> None:
    """Given more lines than the bound, when they are read, then the last ones are there."""
    log = fed(b"".join(b"%d\n" % number for number in range(LINES + 10)))
    assert log.lines() == tuple(str(number) for number in range(10, LINES + 10))


def test_only_so_many_characters_are_kept() -> None:
    """Given long lines, when they are read, then the last ones that fit are there, each of a length that can be shown."""
    log = fed(*(b"%d %s\n" % (number, b"x" * 3000) for number in range(1000)))
    kept = log.lines()
    assert sum(map(len, kept)) <= CHARACTERS < sum(map(len, kept)) + 2000
    assert kept[-1].startswith("999 x")


def test_a_line_without_an_end_becomes_one() -> None:
    """Given output that never ends its line, when it is longer than the bound, then it is cut there and let go."""
    log = fed(b"x" * (OPEN_BYTES + 1), b"y\n")
    assert [line[:1] for line in log.lines()] == ["x", "y"]
