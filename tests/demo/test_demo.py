"""`steward demo` through a pipe, as scripts have it: no Docker, no GPU, real processes and real ports."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.demo.harness import RIG, STEWARD, Demo, Ports, alive, completion, environment, estate, own_folder, piped
from tests.docker.harness import free_port, until


def told(what: str, seconds: float, aim: str) -> None:
    """A measured time, for whoever reads the output; nothing depends on it."""
    print(f"demo: {what}: {seconds:.2f} s (aim {aim})")


def test_the_demo_of_the_sample(tmp_path: Path) -> None:
    """Given `steward demo`, when its estate is edited, broken, mended, added to and taken from, then the engines follow, the
    neighbour is never touched, and Ctrl-C leaves neither a process nor the folder.
    """
    with piped(tmp_path) as demo:
        before = demo.ready("chat", "code")
        told("start to both ready", max(demo.event("InstanceReady", 0, name) for name in before) - demo.began, "<= 10 s")
        sample = demo.estate.read_text()
        the_printed_request_works(demo)
        an_edit_is_followed(demo, sample)
        edited = demo.estate.read_text()
        a_bad_edit_is_refused(demo, edited)
        an_engine_comes_and_goes(demo, edited)
        demo.save(sample)
        until(lambda: has_come_back(demo.instances(), before), lambda: demo.output.text)
        engines = demo.engines()
        assert len(engines) == 2
        assert demo.end() == 0
        assert not alive(engines)
        assert list(tmp_path.iterdir()) == []
        printed = demo.output.rest()
    assert "\x1b" not in printed
    assert "Traceback" not in printed
    assert printed.endswith(" is removed.\n")


def has_come_back(rows: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]]) -> bool:
    """Whether the same specs serve as before: one by its old container, which was kept, one by that which never stopped."""
    return all(rows[name]["ready"] and rows[name]["engine_id"] == before[name]["engine_id"] for name in before)


def the_printed_request_works(demo: Demo) -> None:
    """When the request that the demo prints is pasted into a shell, then the first engine answers."""
    line = str(until(lambda: re.search(r"^ +(curl .*)$", demo.output.text, re.MULTILINE), lambda: demo.output.text)[1])
    answer = subprocess.run(["bash", "-c", line], capture_output=True, check=True, timeout=60)
    assert json.loads(answer.stdout)["model"] == "chat"


def an_edit_is_followed(demo: Demo, sample: str) -> None:
    """When a length is changed, then its engine is replaced, and the table is printed again once it is ready."""
    last, old, tables = demo.last_event(), demo.ready("chat", "code"), demo.output.text.count("NAME ")
    saved = demo.save(sample.replace("max_model_len: 32768", "max_model_len: 65536"))
    told("save to the first step", demo.event("ActionStarted", last, "chat") - saved, "<= 1 s")
    told("save to the replaced engine ready", demo.event("InstanceReady", last, "chat") - saved, "<= 10 s")
    new = demo.ready("chat", "code")
    assert new["chat"]["engine_id"] != old["chat"]["engine_id"]
    assert new["code"]["engine_id"] == old["code"]["engine_id"]
    until(lambda: demo.output.text.count("NAME ") > tables, lambda: demo.output.text)


def a_bad_edit_is_refused(demo: Demo, text: str) -> None:
    """When a key is misspelt, then the refusal has its place in the status and in the output, and both engines serve on."""
    lines = text.replace("port:", "prot:", 1).splitlines()
    (line,) = [number for number, line in enumerate(lines, 1) if "prot:" in line]
    column = lines[line - 1].index("prot") + 1
    demo.save("\n".join(lines) + "\n")
    (problem,) = until(lambda: demo.get("/api/v1/status")["problems"], lambda: demo.output.text)
    assert (problem["file"], problem["line"], problem["column"]) == (str(demo.estate), line, column)
    shown = f"{demo.estate}:{line}:{column}: error: {problem['message']}"
    until(lambda: shown in demo.output.text and f"hint: {problem['hint']}" in demo.output.text, lambda: demo.output.text)
    for name, row in demo.ready("chat", "code").items():
        assert completion(row["port"], name) == 200
    demo.save(text)
    until(lambda: not demo.get("/api/v1/status")["problems"], lambda: demo.output.text)
    until(lambda: "the estate is mended" in demo.output.text, lambda: demo.output.text)


def an_engine_comes_and_goes(demo: Demo, text: str) -> None:
    """When an entry is added and taken away again, then its engine serves, and then nobody listens on its port."""
    port = free_port()
    demo.save(f"{text}\n  - {{name: extra, compose: simulated/default, gpus: [], port: {port}}}\n")
    demo.ready("chat", "code", "extra")
    assert completion(port, "extra") == 200
    demo.save(text)
    demo.ready("chat", "code")
    until(lambda: not listens(port), lambda: demo.output.text)


def listens(port: int) -> bool:
    """Whether somebody does."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_engines_end_with_a_demo_that_is_killed(tmp_path: Path) -> None:
    """Given a demo, when it is killed with -9, then its engines end by themselves."""
    ports = Ports()
    with piped(tmp_path, *own_folder(tmp_path, ports)) as demo:
        demo.ready("one", "two")
        engines = demo.engines()
        assert len(engines) == 2
        demo.end(signal.SIGKILL)
        until(lambda: not alive(engines), lambda: f"{alive(engines)} still run")


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """Given engines that ignore TERM, when Ctrl-C comes twice, then the second one ends all, and no engine is left."""
    ports = Ports()
    rig = RIG.replace("load: 500ms", "load: 500ms, ignore_term: true")
    with piped(tmp_path, *own_folder(tmp_path, ports, rig)) as demo:
        demo.ready("one", "two")
        engines = demo.engines()
        demo.process.send_signal(signal.SIGINT)
        until(lambda: not demo.instances(), "the end of the API")
        assert demo.end() == 130
        until(lambda: not alive(engines), lambda: f"{alive(engines)} still run")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_other_signals_end_it_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    """Given a demo in a folder of one's own, when it is told to end, then it does so with 0, and the folder stays."""
    ports = Ports()
    with piped(tmp_path, *own_folder(tmp_path, ports)) as demo:
        demo.ready("one", "two")
        assert demo.end(number) == 0
        printed = demo.output.rest()
    assert printed.endswith(f"{tmp_path} stays.\n")
    assert (tmp_path / "rig.yml").read_text() == RIG


def test_a_signal_while_it_begins_leaves_nothing(tmp_path: Path) -> None:
    """Given a demo that has just made its folder, when Ctrl-C comes, then it ends with 0, in silence but for the end."""
    with piped(tmp_path) as demo:
        until(lambda: list(tmp_path.iterdir()), "the folder")
        assert demo.end() == 0
        printed = demo.output.rest()
    assert "Traceback" not in printed
    assert printed.splitlines()[-1].startswith("The demo has ended")
    assert list(tmp_path.iterdir()) == []


def test_a_changed_folder_stays_and_is_named(tmp_path: Path) -> None:
    """Given a demo whose rig file was changed, when it ends, then the folder is there, and where it is is said."""
    with piped(tmp_path) as demo:
        folder = demo.estate.parent.parent
        with (folder / "rig.yml").open("a") as rig:
            rig.write("# mine\n")
        assert demo.end() == 0
        printed = demo.output.rest()
    assert f"{folder} stays, because something in it was changed" in printed
    assert (folder / "rig.yml").exists()


def test_a_reader_who_has_left_ends_it(tmp_path: Path) -> None:
    """Given a demo whose output nobody reads any more, when it has something to say, then it ends and its engines with it."""
    ports = Ports()
    words = [str(STEWARD), "demo", *own_folder(tmp_path, ports)]
    line = 'set -o pipefail; "$@" | grep -m 1 InstanceReady'
    ended = subprocess.run(["bash", "-c", line, "bash", *words], capture_output=True, env=environment(tmp_path), timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert not listens(ports.one)


def test_a_taken_address_is_replaced_and_said(tmp_path: Path) -> None:
    """Given the usual address of the API in other hands, when no other one is asked for, then a free one is taken and told."""
    ports = Ports()
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # another process has it already
            holder.bind(("127.0.0.1", 9473))
            holder.listen()
        with piped(tmp_path, *own_folder(tmp_path, ports)[:2]) as demo:
            demo.ready("one", "two")
            assert not demo.address.endswith(":9473")
            assert "note: 127.0.0.1:9473 is taken" in demo.output.text
            assert demo.end() == 0


def test_an_address_that_was_asked_for_is_not_replaced(tmp_path: Path) -> None:
    """Given an address in other hands, when it is the one that was asked for, then that is an error, and nothing is left."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        with piped(tmp_path, "--listen", f"127.0.0.1:{holder.getsockname()[1]}") as demo:
            assert demo.process.wait(60) == 3
            printed = demo.output.rest()
    assert "another process listens there; choose another address with --listen" in printed
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_broken_estate_is_told_and_followed(tmp_path: Path) -> None:
    """Given an estate of one's own that is wrong, when a demo begins with it, then the place is told; mended, it works."""
    ports = Ports()
    words = own_folder(tmp_path, ports, more="oops\n")
    with piped(tmp_path, *words) as demo:
        until(lambda: "estate.yml:5:1: error: " in demo.output.text, lambda: demo.output.text)
        demo.save(estate(ports))
        demo.ready("one", "two")
        assert demo.end() == 0
