"""What holds of every YAML file, not only of those that somebody thought of."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from controller.model.checking import check
from controller.model.compose import ComposeFile
from controller.model.desired import EstateFile
from controller.model.document import Document, Plain
from controller.model.problem import DocPath, Problem
from controller.resolve.render import yaml_text
from controller.settings import Bounds
from controller.sources.yaml_reader import read_document

BOUNDS = Bounds(yaml_depth=12, yaml_nodes=400, yaml_aliases=8, estate_file=4096)

TOKENS = [
    *(
        "a",
        "b",
        "estate",
        "name",
        ": ",
        ":",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "\n\t",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a ",
        "*a",
        "&b ",
        "*b",
    ),
    *(
        "<<",
        "? ",
        "| ",
        ">-",
        "'",
        '"',
        "\\",
        "!",
        "!!str ",
        "%",
        "---",
        "...",
        "#",
        "@",
        "1",
        "0x",
        ".inf",
        "1e9",
        "~",
        "\r",
        "\ufeff",
    ),
    *("\x00", "\x85", "\u2028", "é", "\U0001f600", "null", "true", "0644", "%YAML 1.2\n---\n", "[" * 20, "}" * 5),
]
KEYS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=12)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co", "Cf", "Zl", "Zp")), max_size=20)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), WORDS
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS.filter(lambda key: key != "<<"), inner, max_size=4),
    max_leaves=20,
)


def lines_of(data: bytes) -> list[str]:
    """The lines of a file as an editor counts them."""
    return re.split(r"\r\n|\r|\n", data.decode("utf-8", "replace").removeprefix("\ufeff"))


def check_problems(data: bytes, found: tuple[Problem, ...]) -> None:
    """Every problem is a single line with a place inside of the file."""
    lines = lines_of(data)
    assert found
    for problem in found:
        assert problem.rule == "yaml"
        assert "\n" not in problem.message
        assert problem.place is not None
        assert problem.place.file == "f.yml"
        assert 1 <= problem.place.line <= len(lines)
        assert 1 <= problem.place.column <= len(lines[problem.place.line - 1]) + 2


def paths_of(data: Plain, path: DocPath = ()) -> list[tuple[DocPath, Plain]]:
    """Every value with its path."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [(path, data), *(found for key, value in inner for found in paths_of(value, (*path, key)))]


@given(st.binary(max_size=200) | st.lists(st.sampled_from(TOKENS), max_size=40).map(lambda parts: "".join(parts).encode()))
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf\xef\xbb\xbfa")
@settings(max_examples=1500, deadline=None)
def test_any_bytes_are_a_document_or_problems_with_a_place(data: bytes) -> None:
    """Given any bytes, when they are read, then nothing is raised, and there is a document or at least one placed problem."""
    found = read_document("f.yml", data, BOUNDS)
    if isinstance(found, tuple):
        check_problems(data, found)
        return
    for path, _ in paths_of(found.data):
        assert found.place(path).line <= len(lines_of(data))
    for model in (EstateFile, ComposeFile):
        for problem in check(model, found)[1]:
            assert problem.place is not None
            assert problem.message


@given(DATA, st.booleans(), st.booleans())
@example("0E0", False, False)
@example({"1e3": "0o17", "a": ["0x1F", "1_0", "-.5e-3", "12e03", "0644", "1:30"]}, True, False)
@settings(max_examples=400, deadline=None)
def test_written_data_is_read_back(data: Plain, flow: bool, windows: bool) -> None:
    """Given plain values written as YAML in either style, when read, then they are the same, whatever the line ends."""
    text = yaml_text(data, flow=flow)
    text = re.sub(r"\.\.\.\n$", "", text)
    if windows:
        text = text.replace("\n", "\r\n")
    found = read_document("f.yml", text.encode(), Bounds())
    assert isinstance(found, Document), (text, found)
    assert found.data == data
    assert repr(found.data) == repr(data)


@given(st.lists(st.lists(st.sampled_from(["port", "name", "gpus", "set"]), unique=True, min_size=1), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_places_point_at_the_right_lines(entries: list[list[str]]) -> None:
    """Given entries written one key a line, when read, then every key and value stands on the line that it was written on."""
    lines = ["estate:"]
    expected: dict[DocPath, int] = {}
    for position, keys in enumerate(entries):
        for number, key in enumerate(keys):
            lines.append(f"  {'-' if number == 0 else ' '} {key}: value-{len(lines)}  # é")
            expected[("estate", position, key)] = len(lines)
    found = read_document("f.yml", ("\n".join(lines) + "\n").encode(), Bounds())
    assert isinstance(found, Document)
    for path, line in expected.items():
        at_key, value = found.key_place(path), found.place(path)
        assert (at_key.line, at_key.column, value.line) == (line, 5, line)
        assert lines[line - 1][value.column - 1 :].startswith(f"value-{line - 1}")


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12))
@settings(max_examples=200, deadline=None)
def test_duplicate_keys_are_never_dropped_silently(keys: list[str]) -> None:
    """Given keys that may repeat, when read, then there is one problem for each repetition, or the whole mapping."""
    text = "".join(f"{key}: {position}\n" for position, key in enumerate(keys))
    found = read_document("f.yml", text.encode(), Bounds())
    repeated = [position for position, key in enumerate(keys) if key in keys[:position]]
    if isinstance(found, tuple):
        assert [problem.place and problem.place.line - 1 for problem in found] == repeated
    else:
        assert repeated == []
        assert found.data == {key: position for position, key in enumerate(keys)}
