"""Estates written as YAML: what was written is read back as it was, and comments stand above their keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.model.document import Document, Plain
from controller.resolve.estate_text import EntryText, EstateText, entries_yaml, estate_yaml, flow
from controller.settings import Bounds
from controller.sources.yaml_reader import read_document

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t"), max_size=30)
SCALARS = TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none() | st.floats(0, 1, allow_nan=False)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=8
)
WORDS = (
    "on",
    "No",
    "null",
    "~",
    "1.10",
    "0x1f",
    "a: b",
    "a #b",
    "- x",
    "--flag",
    "{}",
    "GPU-1",
    "[::1]",
    "a:b",
    "12:30",
    "'",
    "=",
    "*x",
)


def read(text: str) -> Plain:
    """The file as Steward reads it."""
    found = read_document("estate.yml", text.encode(), Bounds())
    assert isinstance(found, Document), found
    return found.data


@given(VALUES)
def test_any_value_is_read_back(value: Plain) -> None:
    """Given any value, when it is written on one line, then YAML reads the same."""
    assert read(f"key: {flow(value)}") == {"key": value}


def test_words_that_yaml_takes_for_something_else_are_quoted() -> None:
    """Given texts that look like other things, when they are written, then they stay texts."""
    for word in WORDS:
        assert read(f"key: {flow(word)}") == {"key": word}
        assert read(f"key: {flow([word, {word: word}])}") == {"key": [word, {word: word}]}


def test_a_whole_estate_has_its_comments_above_its_keys() -> None:
    """Given entries with comments, when the file is written, then it reads as it looks."""
    keys: dict[str, Plain] = {"name": "chat", "gpus": [0, 1], "set": {"max_model_len": 4096, "extra_args": ["--a", '{"b": 1}']}}
    chat = EntryText(keys, {"name": ["who"], "gpus": ["which"], "set.max_model_len": ["how long"]})
    other = EntryText({"name": "other"})
    text = estate_yaml(EstateText([chat, other], ["Imported."], {"rig": {"mode": "observe"}}))
    assert text == (
        "# Imported.\n"
        "rig: {mode: observe}\n"
        "\n"
        "estate:\n"
        "    # who\n"
        "  - name: chat\n"
        "    # which\n"
        "    gpus: [0, 1]\n"
        "    set:\n"
        "      # how long\n"
        "      max_model_len: 4096\n"
        '      extra_args: ["--a", \'{"b": 1}\']\n'
        "\n"
        "  - name: other\n"
    )
    assert read(text) == {"rig": {"mode": "observe"}, "estate": [keys, {"name": "other"}]}


def test_no_entry_is_an_empty_list() -> None:
    """Given no entry, when the list is written, then it is there."""
    assert entries_yaml([]) == "estate: []\n"


def test_a_long_comment_takes_several_lines() -> None:
    """Given a comment wider than a page, when it is written, then it is broken between words."""
    lines = entries_yaml([EntryText({"name": "x"}, {"name": ["word " * 60]})]).splitlines()
    assert all(len(line) <= 120 for line in lines)
    assert sum(line.startswith("    # word") for line in lines) == 3
