"""YAML files: what values mean, where they stand, and how files that cannot be used are refused."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from controller.model.document import Document, Plain
from controller.model.problem import Place, Problem
from controller.settings import Bounds
from controller.sources.yaml_reader import read_document

BOUNDS = Bounds()


def read(text: str | bytes, bounds: Bounds = BOUNDS) -> Document:
    """The document, which must be readable."""
    found = read_document("f.yml", text if isinstance(text, bytes) else text.encode(), bounds)
    assert isinstance(found, Document), found
    return found


def refused(text: str | bytes, bounds: Bounds = BOUNDS) -> tuple[Problem, ...]:
    """The problems of a file, which must have some."""
    found = read_document("f.yml", text if isinstance(text, bytes) else text.encode(), bounds)
    assert isinstance(found, tuple)
    assert found
    return found


def where(problem: Problem) -> tuple[int, int]:
    """Line and column of a problem."""
    assert problem.place is not None
    return problem.place.line, problem.place.column


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("off", "off"),
        ("yes", "yes"),
        ("on", "on"),
        ("NO", "NO"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("12", 12),
        ("-12", -12),
        ("+7", 7),
        ("0", 0),
        ("0644", "0644"),
        ("08", "08"),
        ("00", "00"),
        ("0o17", 15),
        ("0x1F", 31),
        ("1:59", "1:59"),
        ("2122:22", "2122:22"),
        ("1_000", "1_000"),
        ("1.10", 1.1),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1.2.3", "1.2.3"),
        ("2026-01-01", "2026-01-01"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("=", "="),
    ],
)
def test_plain_values_follow_the_core_schema(text: str, value: Plain) -> None:
    """Given an unquoted value, when it is read, then it means what YAML 1.2 says, numbers with leading zeros apart."""
    found = read(f"a: {text}\n").data
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


def test_keys_are_their_source_text() -> None:
    """Given keys that look like values, when read, then they are text."""
    assert read("on: 1\n0: 2\ntrue: 3\n1.0: 4\n~: 5\n").data == {"on": 1, "0": 2, "true": 3, "1.0": 4, "~": 5}


def test_source_text_of_numbers_is_kept_where_it_would_be_lost() -> None:
    """Given numbers that print differently, when read, then their text is known by path and that of others is not."""
    found = read("a: 1.10\nb: [1e3, 5, 0x10]\nc: 0.5\nd: true\ne: True\n")
    assert found.written == {("a",): "1.10", ("b", 0): "1e3", ("b", 2): "0x10", ("e",): "True"}


def test_places_of_keys_and_values() -> None:
    """Given nested values, when read, then each key and value has its line and column, a missing one its parent's."""
    found = read("estate:\n  - name: chat\n    gpus: [0, 1]\n    port:\n")
    assert found.place(("estate", 0, "name")) == Place("f.yml", 2, 11)
    assert found.place(("estate", 0, "gpus", 1)) == Place("f.yml", 3, 15)
    assert found.place(("estate", 0, "port")) == Place("f.yml", 4, 10)
    assert found.key_place(("estate", 0, "port")) == Place("f.yml", 4, 5)
    assert found.place(("estate", 0, "compose")) == Place("f.yml", 2, 5)


def test_byte_order_mark_and_crlf_are_accepted() -> None:
    """Given a file saved by a Windows editor, when read, then values and places are those of a plain one."""
    found = read(b"\xef\xbb\xbfa: 1\r\nb:\r\n  c: x\r\n")
    assert found.data == {"a": 1, "b": {"c": "x"}}
    assert found.place(("b", "c")) == Place("f.yml", 3, 6)
    assert found.keys[("a",)] == Place("f.yml", 1, 1)


def test_every_duplicate_key_is_reported_with_both_lines() -> None:
    """Given keys that stand several times, when read, then each repetition names its line and the first one's."""
    problems = refused("a: 1\nb: {c: 1, c: 2}\na: 2\na: 3\n")
    assert [(p.path, where(p), p.message) for p in problems] == [
        ("b.c", (2, 11), "the key `c` stands twice on line 2"),
        ("a", (3, 1), "the key `a` stands on line 1 and on line 3"),
        ("a", (4, 1), "the key `a` stands on line 1 and on line 4"),
    ]


def test_merge_keys_are_refused_and_never_passed_on() -> None:
    """Given merge keys, when read, then each is an error; in quotes it is a key like any other."""
    problems = refused("base: &b {x: 1}\na:\n  <<: *b\n  <<: *b\n")
    assert [where(p) for p in problems] == [(3, 3), (4, 3)]
    assert "merge keys" in problems[0].message
    assert read("'<<': 1\n").data == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a:\n\tb: 1\n", 2, 1, "tab"),
        ("\ta: 1\n", 1, 1, "tab"),
        ("a: 1\n\t\nb: 2\n", 2, 1, "tab"),
        ("a: b: c\n", 1, 5, "`:` stands where no key can be"),
        ("a: [1, 2\nb: 3\n", 1, 4, "bracket that opens here"),
        ("a: {b: 1\n", 1, 4, "bracket that opens here"),
        ("a: 'x\nb: 1\n", 1, 4, "quote that opens here"),
        ("- a\nb: 1\n", 2, 1, "list that begins on line 1"),
        ("a: 'b' c\n", 1, 8, "mapping that begins on line 1"),
        ("estate:\n  - name: chat\n    comp", 3, 5, "expected `key: value`"),
        ("a: @x\n", 1, 4, "no value can begin with '@'"),
        ("a: - b\n", 1, 4, "list item"),
        ('a: "\\q"\n', 1, 5, "escape"),
        ("a: *\n", 1, 5, "name is expected after"),
        ("a: *nobody\n", 1, 4, "`*nobody` has no `&`"),
        ("a: &x 1\nb: &x 2\n", 2, 4, "`&x` stands on line 1 and on line 2"),
        ("a: &x {b: *x}\n", 1, 11, "inside of its own value"),
        ("a: 1\n---\nb: 2\n", 2, 1, "second YAML document"),
        ("a: !!python/object/apply:os.system [x]\n", 1, 4, "tag `!!python/object/apply:os.system`"),
        ("a: !!binary aGk=\n", 1, 4, "tag `!!binary`"),
        ("a: !mine x\n", 1, 4, "tag `!mine`"),
        ("!!map {a: 1}\n", 1, 1, "tag `!!map`"),
        ("a: {{ x }}\n", 1, 5, "a key must be one word"),
        ("? *a\n: b\n", 1, 3, "a key must be one word"),
        ("%YAML 3.0\n---\na: 1\n", 1, 1, "`%` line"),
        ("a: .inf\n", 1, 4, "no number that Steward can use"),
        ("a: 1e999\n", 1, 4, "too large"),
        ("a: 18446744073709551616\n", 1, 4, "64 bits"),
        (f"a: {'9' * 5000}\n", 1, 4, "64 bits"),
        ('a: "x\\0y"\n', 1, 4, "control character U+0000"),
        ("a: x\x00y\n", 1, 5, "U+0000"),
        ("a: x\u2028y\n", 1, 5, "U+2028"),
        ("a: 1\nb: \x1b[0m\n", 2, 4, "U+001B"),
        ("", 1, 1, "empty"),
        ("# only a comment\n", 1, 1, "empty"),
        ("---\n", 1, 1, "empty"),
    ],
)
def test_files_that_are_not_usable_yaml(text: str, line: int, column: int, words: str) -> None:
    """Given a broken file, when read, then one problem says what and where in one line, with a hint."""
    (problem,) = refused(text)
    assert where(problem) == (line, column)
    assert words in problem.message
    assert "\n" not in problem.message
    assert problem.hint
    assert problem.rule == "yaml"


@pytest.mark.parametrize(
    ("data", "line", "column", "words"),
    [
        (b"a: b\r\nc: gr\xfcn\r\n", 2, 6, "byte 11 (0xfc) is not UTF-8"),
        (b"\xef\xbb\xbfa: \xff\n", 1, 4, "not UTF-8"),
        ("a: ä\nb: ".encode() + b"\xc3", 2, 4, "not UTF-8"),
        ("a: 1\n".encode("utf-16"), 1, 1, "UTF-16"),
        ("a: 1\n".encode("utf-32"), 1, 1, "UTF-16 or UTF-32"),
        ("a: 1\n".encode("utf-16-le"), 1, 2, "U+0000"),
        (b"\xed\xa0\x80", 1, 1, "not UTF-8"),
    ],
)
def test_other_encodings_are_refused_with_their_place(data: bytes, line: int, column: int, words: str) -> None:
    """Given bytes that are not UTF-8, when read, then the problem has the line and column of the first wrong one."""
    (problem,) = refused(data)
    assert where(problem) == (line, column)
    assert words in problem.message


def test_large_files_are_refused_unread() -> None:
    """Given a file of 5 MB, when read, then the limit is named."""
    (problem,) = refused(b"a: b\n" * 1_000_000)
    assert "larger than 2.0 MiB" in problem.message


def test_depth_is_limited_without_recursion() -> None:
    """Given far too deep values, plain or through aliases, when read, then one problem names the limit."""
    assert read("[" * 64 + "]" * 64).data is not None
    (plain,) = refused("a: " + "[\n" * 500_000)
    assert "deeper than 64 levels" in plain.message
    (at_once,) = refused("a: " + "[" * 500_000)
    assert "deep" in at_once.message
    links = "".join(f"a{i}: &a{i} {'[' * 50}*a{i - 1}{']' * 50}\n" for i in range(1, 900))
    (chained,) = refused(f"a0: &a0 {'[' * 50}{']' * 50}\n{links}")
    assert "deeper than 64 levels" in chained.message


def test_alias_bomb_is_refused_without_growing() -> None:
    """Given aliases that stand for billions of values, when read, then they are counted and never made."""
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 40))
    tracemalloc.start()
    (problem,) = refused(f"a0: &a0 [{', '.join(['x'] * 9)}]\n{levels}")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "more than 200000 values" in problem.message
    assert peak < 4 * 2**20


def test_aliases_and_values_are_limited() -> None:
    """Given small bounds, when a file passes them, then the problem names the bound."""
    few = replace(BOUNDS, yaml_aliases=2, yaml_nodes=20)
    (aliases,) = refused("a: &a 1\nb: [*a, *a, *a]\n", few)
    assert "more than 2 aliases" in aliases.message
    (values,) = refused("a: [" + "1, " * 30 + "]\n", few)
    assert "more than 20 values" in values.message


def test_aliases_stand_for_their_value() -> None:
    """Given an anchor and an alias, when read, then the alias has the value and its own place."""
    found = read("a: &d {limit: 5s}\nb: *d\nc: &k x\n")
    assert found.data == {"a": {"limit": "5s"}, "b": {"limit": "5s"}, "c": "x"}
    assert found.place(("b", "limit")) == Place("f.yml", 2, 4)


def test_a_hopeless_file_stops_being_read() -> None:
    """Given thousands of mistakes, when read, then a hundred are reported."""
    assert len(refused("a: 1\n" * 5000)) == 100


def test_the_digest_is_that_of_the_bytes() -> None:
    """Given the same values in other bytes, when read, then the digests differ and those of equal bytes do not."""
    assert read("a: 1\n").digest == read("a: 1\n").digest
    assert read("a: 1\n").digest != read("a:  1\n").digest
