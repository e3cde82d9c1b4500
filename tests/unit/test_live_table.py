"""A table below lines that scroll: nothing is lost and nothing left over, however the window changes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.cli.live_table import LiveTable, Rows, fitted, painting
from observability.text.cells import columns, cut
from tests.fakes.screen import Screen

WAIT_S = 20
WIDE = "模型"


def rows_of(count: int, text: str = "") -> Rows:
    """A table of so many rows, each begun with a bar and as wide as the window lets it be."""
    return lambda width: [cut(f"|{number} {text or '=' * 300}", width) for number in range(count)]


def painted(table: LiveTable, screen: Screen, *said: str) -> list[str]:
    """The screen after these lines and one picture."""
    for line in said:
        table.say(line)
    table.paint()
    return screen.shown


def test_lines_go_above_the_table() -> None:
    """Given a table, when lines are said, then they stand above it in order, and each picture is one write."""
    screen = Screen(20, 10)
    table = LiveTable(screen)
    table.show(rows_of(2, "x"))
    assert painted(table, screen) == ["|0 x", "|1 x"]
    assert painted(table, screen, "one", "two\nthree") == ["one", "two", "three", "|0 x", "|1 x"]
    assert screen.writes == 2
    assert (screen.row, screen.column) == (3, 0)


def test_what_scrolls_away_is_kept_by_the_terminal() -> None:
    """Given a small window, when more lines are said than fit, then the scrollback has each of them once, whole."""
    screen = Screen(12, 5)
    table = LiveTable(screen)
    table.show(rows_of(3))
    said = [f"{number}: /a/path/that/wraps/{WIDE}/estate.yml" for number in range(20)]
    for line in said:
        painted(table, screen, line)
    assert screen.lines == [*said, *rows_of(3)(11)]
    assert screen.shown[-3:] == list(rows_of(3)(11))


def test_a_shorter_table_leaves_nothing_of_the_longer_one() -> None:
    """Given a table, when it shrinks and vanishes, then its old rows are gone."""
    screen = Screen(20, 10)
    table = LiveTable(screen)
    for count in (4, 2, 0, 1):
        table.show(rows_of(count, "y" * (count * 3)))
        assert painted(table, screen) == list(rows_of(count, "y" * (count * 3))(19))


def test_a_table_taller_than_the_window_is_cut() -> None:
    """Given a window of six lines, when the table has ten rows, then five are used and the last says how many are missing."""
    screen = Screen(30, 6)
    table = LiveTable(screen)
    table.show(rows_of(10, "x"))
    assert painted(table, screen, "said") == ["said", "|0 x", "|1 x", "|2 x", "|3 x", "… 6 rows more"]
    assert fitted(["a"], 10, 1) == ["a"]
    assert fitted(["a", "b"], 3, 1) == ["… …"]


def test_colour_is_no_width() -> None:
    """Given coloured rows, when they are painted, then they take their own columns only."""
    screen = Screen(10, 4)
    table = LiveTable(screen)
    table.show(lambda width: [f"\x1b[32m{'g' * width}\x1b[0m"])
    assert painted(table, screen, "\x1b[31mred\x1b[0m") == ["red", "g" * 9]


def test_the_end_takes_the_table_away() -> None:
    """Given a table and a line not painted yet, when it is cleared, then the line is there and the table is not."""
    screen = Screen(20, 10)
    table = LiveTable(screen)
    table.show(rows_of(3))
    painted(table, screen, "one")
    table.say("two")
    table.clear()
    assert screen.shown == ["one", "two"]
    assert screen.wraps


@dataclass(frozen=True)
class Step:
    """What happens before a picture: lines, another table, another size, or another size while the picture is made."""

    said: tuple[str, ...] = ()
    rows: int | None = None
    size: tuple[int, int] | None = None
    late_width: int | None = None


WIDTHS = st.integers(10, 120)
SIZES = st.tuples(WIDTHS, st.integers(1, 30))
LONG = st.text(alphabet="ab cd/模é", max_size=200)
SHORT = st.text(alphabet="ab/", max_size=5)


def steps(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Step]]:
    """What may happen to a table."""
    said = st.lists(texts, max_size=4).map(tuple)
    step = st.builds(Step, said, st.none() | st.integers(0, 12), st.none() | SIZES, st.none() | WIDTHS)
    return st.lists(step, max_size=12)


@dataclass
class Story:
    """A screen, its table, and all that was ever said."""

    screen: Screen
    table: LiveTable = field(init=False)
    said: list[str] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        """Nothing is shown yet."""
        self.table = LiveTable(self.screen)

    def take(self, step: Step) -> None:
        """One step and its picture; a window that changed meanwhile is noticed at the next one."""
        if step.size is not None:
            self.screen.resize(*step.size)
        for text in step.said:
            self.said.append(f"{len(self.said)}: {text}".rstrip())
            self.table.say(self.said[-1])
        if step.rows is not None:
            self.count = step.rows
            self.table.show(rows_of(step.rows))
        if step.late_width is not None:
            self.screen.next_size = (step.late_width, self.screen.height)
            self.table.paint()
        self.table.paint()

    @property
    def expected(self) -> list[str]:
        """The table as it should stand in this window."""
        width = self.screen.width - 1
        return list(fitted(rows_of(self.count)(width), width, max(1, self.screen.height - 1)))


@settings(max_examples=120, deadline=None)
@given(SIZES, steps(LONG))
def test_nothing_is_lost_or_left_over_where_text_is_wrapped_anew(size: tuple[int, int], taken: list[Step]) -> None:
    """Given a terminal that reflows, when it changes at any time, then all lines are there once and whole, then the table."""
    story = Story(Screen(*size))
    for step in taken:
        story.take(step)
        assert story.screen.lines == [*story.said, *story.expected]
        assert all(columns(row) < story.screen.width for row in story.expected)
        assert story.screen.cursor_shown
    story.table.clear()
    assert story.screen.lines == story.said


@settings(max_examples=120, deadline=None)
@given(SIZES, steps(SHORT))
def test_nothing_is_lost_or_left_over_where_text_is_cut(size: tuple[int, int], taken: list[Step]) -> None:
    """Given a terminal that cuts its rows at a new width, when it changes at any time, then the same holds."""
    story = Story(Screen(*size, reflows=False))
    for step in taken:
        story.take(step)
        assert story.screen.lines == [*story.said, *story.expected]


def eventually(screen: Screen, done: threading.Event) -> None:
    """Fail rather than wait for ever."""
    assert done.wait(WAIT_S), screen.shown


class Watched(Screen):
    """A screen that tells of each picture."""

    def __init__(self, until: str) -> None:
        """`seen` is set by the first picture with that text."""
        super().__init__(40, 10)
        self.until = until
        self.seen = threading.Event()

    def write(self, text: str) -> None:
        """Obey, then look."""
        super().write(text)
        if any(self.until in row for row in self.shown):
            self.seen.set()


def test_changes_are_painted_by_themselves() -> None:
    """Given a table that is being painted, when it changes, then the picture follows, and at the end it is gone."""
    screen = Watched("|1 later")
    table = LiveTable(screen)
    with painting(table, lambda: pytest.fail("nobody left")):
        table.say("first")
        table.show(rows_of(2, "later"))
        eventually(screen, screen.seen)
    assert screen.shown == ["first"]


def test_a_new_size_is_noticed() -> None:
    """Given a table that nobody changes, when the window does, then the table is painted for it."""
    screen = Watched(f"|0 {'=' * 55}…")
    table = LiveTable(screen)
    table.show(rows_of(1))
    with painting(table, lambda: pytest.fail("nobody left")):
        screen.resize(60, 5)
        eventually(screen, screen.seen)


def test_a_terminal_that_is_gone_is_told() -> None:
    """Given a terminal that was closed, when the table is painted, then that is told once and nothing is raised."""
    screen, left = Screen(), threading.Event()
    table = LiveTable(screen)
    screen.gone = True
    with painting(table, left.set):
        table.say("anyone?")
        eventually(screen, left)
