"""Files as people write them, each with the one thing that is wrong with it: where, and words that must be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BASE: Final = """\
estate:
  - name: chat
    compose: simulated/default
    gpus: []
    port: 8010
"""
"""A valid estate; lines of the entry may follow it."""


def with_lines(*lines: str) -> str:
    """The valid estate with more lines in its entry, the first of them on line 6."""
    return BASE + "".join(f"    {line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Bad:
    """A file that must be refused: `places` are line and column of each problem, `words` stand in path, message or hint."""

    name: str
    content: str | bytes
    places: tuple[tuple[int, int], ...]
    words: tuple[str, ...]


def _bad(name: str, content: str | bytes, place: tuple[int, int], *words: str) -> Bad:
    return Bad(name, content, (place,), words)


def _line(name: str, line: str, column: int, *words: str) -> Bad:
    """A wrong line of the entry, at this column of it."""
    return _bad(name, with_lines(line), (6, 4 + column), *words)


def _bomb() -> str:
    first = "a0: &a0 [" + ", ".join(["x"] * 10) + "]\n"
    return first + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)) + BASE


_SECOND: Final = "  - {name: chat, compose: simulated/default, gpus: [], port: 8011}\n"
_MERGED: Final = BASE.replace("    port: 8010\n", "    <<: *common\n")

DUPLICATES: Final = (
    _line("git-05 a key twice", "port: 8011", 1, "estate[0].port", "on line 5 and on line 6"),
    _line("git-05 a quoted key twice", '"port": 8011', 1, "estate[0].port", "on line 5 and on line 6"),
    _line("git-05 a key twice on one line", "set: {max_num_seqs: 1, max_num_seqs: 2}", 24, "twice on line 6"),
    _bad("git-05 estate twice", BASE + BASE, (6, 1), "`estate`", "on line 1 and on line 6"),
    _bad("git-05 a name twice", BASE + _SECOND, (6, 12), "instance chat", "estate.yml:2:"),
    _bad("git-05 an anchor twice", f"x: &a 1\ny: &a 2\n{BASE}", (2, 4), "`&a`", "on line 1 and on line 2"),
    _bad("git-05 a merge key", f"x: &common {{port: 8010}}\n{_MERGED}", (6, 5), "merge keys", "<<", "defaults"),
    Bad(
        "git-05 two merge keys",
        with_lines("<<: {image: 'a:1'}", "<<: {image: 'b:1'}"),
        ((6, 5), (7, 5)),
        ("merge keys", "write the keys out"),
    ),
    _line("git-05 a merge key in env", "env: {<<: {A: b}}", 7, "merge keys", "estate[0].env.<<"),
    _bad("git-05 a merge key at the top", f"<<: {{schema_version: 1}}\n{BASE}", (1, 1), "merge keys"),
    _line("git-05 a quoted merge key", '"<<": {image: x}', 1, "unknown key `<<`"),
)

TRUTHS: Final = (
    _line("git-06 enabled: no", "rollback: {enabled: no}", 21, "estate[0].rollback.enabled", 'the text "no"', "write false"),
    _line("git-06 share: yes", "share: yes", 8, "estate[0].share", 'the text "yes"', "write true"),
    _line("git-06 share: 1", "share: 1", 8, "expected true or false", "the number 1"),
    _line("git-06 key on", "on: true", 1, "unknown key `on`"),
    _line("git-06 key y", "y: 1", 1, "unknown key `y`"),
    _bad("git-06 name NO", BASE.replace("chat", "NO"), (2, 11), "estate[0].name", '"NO"', "small letters"),
    _bad("git-06 name true", BASE.replace("chat", "true"), (2, 11), "found true", 'quote it: "true"'),
    _bad("git-06 estate: no", "estate: no\n", (1, 9), "expected a list", '"no"'),
    _line("git-06 state: off", "state: off", 8, "`running` or `stopped`", '"off"'),
    _line("git-06 image: no tag", "image: NO", 8, "estate[0].image", "NO"),
    _line("git-06 image: true", "image: true", 8, "expected text", "found true", "quote it"),
    _line("git-06 served name true", "served_names: [true]", 16, "served_names", "found true", "quote it"),
    _line("git-06 env True", "env: {A: True}", 10, "estate[0].env.A", "True", "quote it"),
)

NUMBERS: Final = (
    _line("git-07 networks 2122:22", "networks: [2122:22]", 12, "estate[0].networks[0]", "2122:22"),
    _bad("git-07 port 2122:22", BASE.replace("8010", "2122:22"), (5, 11), "estate[0].port", '"2122:22"', "whole number"),
    _bad("git-07 port in quotes", BASE.replace("8010", '"8010"'), (5, 11), "estate[0].port", "without quotes"),
    _bad("git-07 port 08010", BASE.replace("8010", "08010"), (5, 11), "write 8010, without leading zeros"),
    _bad("git-07 port 8_010", BASE.replace("8010", "8_010"), (5, 11), "estate[0].port", '"8_010"'),
    _bad("git-07 port 8010.0", BASE.replace("8010", "8010.0"), (5, 11), "8010.0", "write 8010"),
    _bad("git-07 port 1e3", BASE.replace("8010", "1e3"), (5, 11), "1e3", "write 1000"),
    _bad("git-07 port 65536", BASE.replace("8010", "65536"), (5, 11), "from 1 to 65535", "65536"),
    _bad("git-07 port beyond 64 bits", BASE.replace("8010", "9" * 30), (5, 11), "64 bits"),
    _line("git-07 duration 1:59", "boot: {stall: 1:59}", 15, "estate[0].boot.stall", "a duration", '"1:59"'),
    _line("git-07 duration 08", "boot: {stall: 08}", 15, "estate[0].boot.stall", "a duration", '"08"'),
    _line("git-07 duration 300", "boot: {stall: 300}", 15, "a duration", "with its unit"),
    _line("git-07 count 08", "restart: {max: 08}", 16, "estate[0].restart.max", "write 8, without leading zeros"),
    _line("git-07 count 1e1", "health: {misses: 1e1}", 18, "estate[0].health.misses", "write 10"),
    _line("git-07 parameter 0644", "set: {max_model_len: 0644}", 22, "max_model_len", "write 644, without leading zeros"),
    _line("git-07 parameter 1e3", "set: {max_model_len: 1e3}", 22, "max_model_len", "write 1000"),
    _line("git-07 parameter in quotes", "set: {max_model_len: '8192'}", 22, "max_model_len", "remove the quotes"),
    _line("git-07 parameter 32k", "set: {max_model_len: 32k}", 22, "max_model_len", "32768"),
    _line("git-07 version 1.10", "image: 1.10", 8, "estate[0].image", "1.10", 'quote it: "1.10"'),
    _line("git-07 version 1.10 in env", "env: {VERSION: 1.10}", 16, "estate[0].env.VERSION", 'quote it: "1.10"'),
    _line("git-07 1e3 in env", "env: {LIMIT: 1e3}", 14, "estate[0].env.LIMIT", 'quote it: "1e3"'),
    _line("git-07 served name 1.10", "set: {served_name: 1.10}", 20, "served_name", "in quotes"),
    _line("git-07 argument 1.10", "set: {extra_args: [--sim-tps, 1.10]}", 19, "extra_args", "in quotes"),
    _line("git-07 a date", "suspend: {reason: r, until: 2026-12-01}", 29, "suspend.until", "2026-12-01", "with its zone"),
)

BYTES: Final = (
    _bad("git-08 a tab", f"{BASE}\tstate: running\n", (6, 1), "a tab", "spaces"),
    _bad("git-08 a tab before a list", "estate:\n\t- name: chat\n", (2, 1), "a tab", "spaces"),
    _bad("git-08 a second BOM", b"\xef\xbb\xbf\xef\xbb\xbf" + BASE.encode(), (1, 1), "U+FEFF"),
    _bad("git-08 Latin-1", BASE.encode() + b"# gr\xfcn\n", (6, 5), "0xfc", "UTF-8"),
    _bad("git-08 UTF-16", BASE.encode("utf-16"), (1, 1), "UTF-16", "UTF-8"),
    _bad("git-08 UTF-16 without a mark", BASE.encode("utf-16-le"), (1, 2), "U+0000", "UTF-8"),
    _bad("git-08 zeros after a power cut", BASE.encode() + bytes(4096), (6, 1), "U+0000"),
    _bad("git-08 nothing but zeros", bytes(512), (1, 1), "U+0000"),
    _bad("git-08 an archive", b"\x1f\x8b\x08\x00" + bytes(60), (1, 2), "0x8b"),
    _bad("git-08 a control character", f"{BASE}# \x07\n", (6, 3), "U+0007"),
    _line("git-08 an escaped control character", 'env: {A: "a\\0b"}', 10, "U+0000"),
    _bad("git-08 5 MB", f"{BASE}# {'x' * 5_000_000}\n", (1, 1), "larger than 2.0 MiB"),
    _bad("git-08 5 MB on one line", f"estate: [{'x, ' * 1_700_000}]\n", (1, 1), "larger than 2.0 MiB"),
    _bad("git-08 too many values", f"estate: [{'x,' * 500_000}]\n", (1, 400_004), "more than 200000 values"),
    _bad("git-08 deep brackets", f"estate: {'[' * 5000}{']' * 5000}\n", (1, 1008), "nest far too deep"),
    _bad("git-08 deep keys", "estate:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 300)), (65, 65), "deeper than 64"),
    _bad("git-08 an alias bomb", _bomb(), (6, 10), "more than 200000 values", "aliases"),
    _bad("git-08 an alias within itself", "estate: &e [*e]\n", (1, 13), "`*e`", "inside of its own value"),
    _bad("git-08 many aliases", f"x: &x 1\ny: [{'*x, ' * 1001}]\n{BASE}", (2, 4005), "more than 1000 aliases"),
    _line("git-08 a tag", "image: !!python/object/apply:os.system [id]", 8, "!!python/object/apply:os.system"),
    _line("git-08 a tag that changes a type", "share: !!bool yes", 8, "!!bool"),
    _line("git-08 an open quote", 'image: "x', 8, "never closed"),
    _line("git-08 an open bracket", "env: {A: b", 6, "not closed"),
    _bad("git-08 two documents", f"{BASE}---\n{BASE}", (6, 1), "second YAML document"),
    _bad("git-08 nothing", "", (1, 1), "empty"),
    _bad("git-08 nothing but a comment", "# later\n", (1, 1), "empty"),
    _bad("git-08 no estate key", "rig: {name: rig}\n", (1, 1), "no estate key"),
    _bad("git-08 an estate without value", "estate:\n", (1, 1), "estate has no value", "estate: []"),
)

FILES: Final = (*DUPLICATES, *TRUTHS, *NUMBERS, *BYTES)
