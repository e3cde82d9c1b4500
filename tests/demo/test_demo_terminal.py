"""`steward demo` on a terminal: the table stays at the bottom, the journal goes up, and the terminal is left as it was."""

from __future__ import annotations

import re
import signal
import termios
from functools import partial
from pathlib import Path

import pytest

from observability.text.cells import columns
from tests.demo.harness import END_S, Ports, Window, alive, estate, on_terminal, own_folder, state_of
from tests.docker.harness import until

LOCAL_FLAGS = 3
FOOT = "Ctrl-C ends the demo"
CTRL_C, CTRL_Z = b"\x03", b"\x1a"


def table(window: Window) -> list[str]:
    """The rows of the table, from its first line on; empty unless it is there once, whole, at the end of the screen."""
    rows = window.screen.shown
    heads = [number for number, row in enumerate(rows) if row.startswith("rig rig:")]
    whole = len(heads) == 1 and rows[-1].startswith(FOOT)
    return rows[heads[0] :] if whole else []


def are_ready(window: Window) -> bool:
    """Whether the table shows two engines that serve."""
    return len([row for row in table(window) if re.match(r"(one|two) +yes ", row)]) == 2


def heads(window: Window) -> int:
    """How many tables there are on the screen and in the scrollback."""
    return sum(line.startswith("rig rig:") for line in window.screen.lines)


def is_whole(window: Window, folder: Path) -> bool:
    """Whether the engines are ready in one table, and the lines that were above it are all still there, unwrapped."""
    lines = window.screen.lines
    opening = f"  the estate  {folder}/desired/estate.yml" in lines
    edit = sum("one: create (set.max_model_len: 8192 -> 4096)" in line for line in lines) == 1
    return are_ready(window) and heads(window) == 1 and opening and edit


def has_foot(window: Window, foot: str) -> bool:
    """Whether this is the last row of the table."""
    return table(window)[-1:] == [foot]


def has_cursor(window: Window) -> bool:
    """Whether the terminal shows where it is."""
    return window.screen.cursor_shown


def echoes(window: Window) -> bool:
    """Whether the terminal shows what is typed."""
    return bool(window.modes()[LOCAL_FLAGS] & termios.ECHO)


@pytest.mark.parametrize(("width", "height"), [(40, 16), (80, 24), (200, 50)])
def test_the_table_stays_below_the_journal(tmp_path: Path, width: int, height: int) -> None:
    """Given a terminal of some size, when engines get ready and one is edited, then the table is there once, fits, and all
    journal lines are above it, whole; Ctrl-C takes it away and leaves the terminal as it was.
    """
    ports = Ports()
    with on_terminal(tmp_path, width, height, *own_folder(tmp_path, ports)) as window:
        before = window.modes()
        until(lambda: are_ready(window), lambda: window.screen.shown)
        assert (echoes(window), has_cursor(window)) == (False, False)
        last = window.demo.last_event()
        window.demo.save(estate(ports).replace("gpus: [0]", "gpus: [0], set: {max_model_len: 4096}"))
        window.demo.event("InstanceReady", last, "one")
        until(lambda: is_whole(window, tmp_path), lambda: window.screen.lines)
        assert all(columns(row) < width for row in table(window))
        engines = window.demo.engines()
        window.press(CTRL_C)
        assert window.demo.process.wait(END_S) == 0
        until(lambda: window.screen.lines[-1].endswith(f"{tmp_path} stays."), lambda: window.screen.lines)
        assert (window.modes(), has_cursor(window)) == (before, True)
        assert not alive(engines)
        assert not any(line.startswith(("rig rig:", FOOT)) for line in window.screen.lines)


def test_the_table_follows_the_window(tmp_path: Path) -> None:
    """Given a table, when the window becomes narrower, wider and lower, then each time it is there once and fits."""
    with on_terminal(tmp_path, 100, 30, *own_folder(tmp_path, Ports())) as window:
        until(lambda: are_ready(window), lambda: window.screen.shown)
        for width, height in ((44, 30), (160, 30), (60, 14), (120, 40)):
            window.resize(width, height)
            whole = f"{FOOT} · {tmp_path}/desired/estate.yml"
            foot = whole if columns(whole) < width else f"{whole[: width - 2]}…"
            until(partial(has_foot, window, foot), lambda: window.screen.shown)
            until(lambda: heads(window) == 1, lambda: window.screen.lines)


def test_a_window_too_low_for_the_table_shows_its_beginning(tmp_path: Path) -> None:
    """Given a terminal of six lines, when the table has more, then it is cut, and the row that says so is the last."""
    with on_terminal(tmp_path, 80, 6, *own_folder(tmp_path, Ports())) as window:
        until(lambda: re.fullmatch(r"… \d+ rows more", "".join(window.screen.shown[-1:])), lambda: window.screen.shown)
        window.press(CTRL_C)
        assert window.demo.process.wait(END_S) == 0


def test_a_stopped_demo_gives_the_terminal_back(tmp_path: Path) -> None:
    """Given a table, when the demo is stopped by Ctrl-Z and goes on later, then meanwhile the terminal is as it was."""
    with on_terminal(tmp_path, 100, 30, *own_folder(tmp_path, Ports())) as window:
        before = window.modes()
        until(lambda: are_ready(window), lambda: window.screen.shown)
        window.press(CTRL_Z)
        until(lambda: state_of(window.demo.process) == "T", lambda: state_of(window.demo.process))
        until(lambda: has_cursor(window) and not table(window), lambda: window.screen.shown)
        assert window.modes() == before
        window.demo.process.send_signal(signal.SIGCONT)
        until(lambda: are_ready(window) and not has_cursor(window), lambda: window.screen.shown)
        assert not echoes(window)


def test_no_color_means_no_colour(tmp_path: Path) -> None:
    """Given NO_COLOR, when the table is painted, then the cursor moves and nothing is coloured."""
    with on_terminal(tmp_path, 100, 30, *own_folder(tmp_path, Ports()), env={"NO_COLOR": "1"}) as window:
        until(lambda: are_ready(window), lambda: window.screen.shown)
        window.press(CTRL_C)
        assert window.demo.process.wait(END_S) == 0
        text = window.demo.output.text
    assert "\x1b[J" in text
    assert not re.search(r"\x1b\[[1-9][0-9;]*m", text)


def test_a_dumb_terminal_is_a_pipe(tmp_path: Path) -> None:
    """Given a terminal that says it can do nothing, when a demo runs, then it gets plain lines."""
    with on_terminal(tmp_path, 100, 30, *own_folder(tmp_path, Ports()), env={"TERM": "dumb"}) as window:
        until(lambda: "Ctrl-C here ends the demo." in window.demo.output.text, lambda: window.demo.output.text)
        window.press(CTRL_C)
        assert window.demo.process.wait(END_S) == 0
        text = window.demo.output.text
    assert "\x1b" not in text.replace("^C", "")
    assert text.count("NAME ") == 1
