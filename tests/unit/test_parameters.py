"""The table of parameters: what each takes, and what somebody reads who wrote something else."""

from __future__ import annotations

import math

import pytest

from controller.model.fields import SecretRef
from controller.model.parameters import PARAMETERS, Checked, Kind, Rejected, check_value, parameters_of, suggest
from controller.model.profile import DialectName

GOOD: dict[Kind, object] = {
    Kind.INTEGER: 512,
    Kind.NUMBER: 0.5,
    Kind.BOOLEAN: True,
    Kind.TEXT: "qwen",
    Kind.NAME: "fp8_e4m3",
    Kind.CHOICE: "auto",
    Kind.MODEL_PATH: "qwen/27b",
    Kind.PATH: "templates/chat.jinja",
    Kind.FILE_NAME: "model.gguf",
    Kind.URL_PATH: "/health",
    Kind.SHARES: [3, 1],
    Kind.TEXTS: ["--flag", "value"],
    Kind.SECRET: {"secret": "KEY"},
}
"""A value of each kind that the widest parameters of it accept."""


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_row_is_complete(name: str) -> None:
    """Given a row, when it is read, then it has its own name, one sentence, an engine, and bounds in order."""
    row = PARAMETERS[name]
    assert row.name == name
    assert row.about.endswith(".")
    assert row.about.count(". ") <= 1
    assert row.dialects
    assert (row.low is None) == (row.high is None)
    assert row.low is None or row.high is None or row.low < row.high
    assert bool(row.choices) == (row.kind is Kind.CHOICE)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_value_of_its_kind_is_taken(name: str) -> None:
    """Given a value of the right kind within the bounds, when it is checked, then it is accepted."""
    row = PARAMETERS[name]
    value = row.low if row.kind is Kind.INTEGER else GOOD[row.kind]
    assert isinstance(check_value(name, value), Checked)


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("value", [None, object(), {"a": 1}, [[]], math.nan, math.inf, b"bytes"])
def test_what_no_file_means_is_rejected_with_the_expectation(name: str, value: object) -> None:
    """Given a value that no parameter takes, when it is checked, then the sentence says what it should have been."""
    answer = check_value(name, value)
    assert isinstance(answer, Rejected)
    assert answer.message.startswith(f"expected {PARAMETERS[name].expected}, found ")


@pytest.mark.parametrize(
    ("name", "value", "message", "hint"),
    [
        ("max_model_len", "8192", "a whole number from 256 to 10000000 tokens, found the text '8192'", "remove the quotes"),
        ("max_model_len", 8192.0, "a whole number from 256 to 10000000 tokens, found the number 8192.0", "write 8192"),
        ("max_model_len", "128k", "a whole number from 256 to 10000000 tokens, found the text '128k'", "such as 131072"),
        ("max_model_len", "131_072", "a whole number from 256 to 10000000 tokens, found the text '131_072'", "digits alone"),
        ("max_model_len", True, "a whole number from 256 to 10000000 tokens, found true", ""),
        ("max_model_len", None, "a whole number from 256 to 10000000 tokens, found nothing", "remove the line"),
        ("max_model_len", 255, "a whole number from 256 to 10000000 tokens, found the number 255", ""),
        ("tensor_parallel_size", 17, "a whole number from 1 to 16 cards, found the number 17", ""),
        ("gpu_memory_utilization", 92, "a number from 0.05 to 0.99, found the number 92", "write 0.92 for 92 %"),
        ("gpu_memory_utilization", "0.9", "a number from 0.05 to 0.99, found the text '0.9'", "without quotes"),
        ("gpu_memory_utilization", False, "a number from 0.05 to 0.99, found false", ""),
        ("enforce_eager", "yes", "true or false, found the text 'yes'", "make it a text"),
        ("enforce_eager", 1, "true or false, found the number 1", ""),
        ("flash_attention", False, "one of on, off, auto, found false", "write off"),
        ("flash_attention", "maybe", "one of on, off, auto, found the text 'maybe'", ""),
        ("kv_cache_dtype", 8, "a name of letters, digits and _ . + : / -, found the number 8", "put it in quotes"),
        ("model_path", "/models/qwen", "a path below the models folder, found the text '/models/qwen'", "write qwen"),
        ("model_path", "/srv/models/qwen", "a path below the models folder, found the text", "rig.paths.models"),
        ("model_path", "a/../../etc", "a path below the models folder, found the text 'a/../../etc'", "may not contain .."),
        ("model_path", "qwen/", "a path below the models folder, found the text 'qwen/'", "without a slash at its end"),
        ("model_file", "qwen/a.gguf", "a file name without a folder, found the text 'qwen/a.gguf'", "into model_path"),
        ("model_file", "..", "a file name without a folder, found the text '..'", ""),
        ("served_name", "a\nb", r"a text of one line, found the text 'a\nb'", "line breaks"),
        ("served_name", "--host", "a text of one line, found the text '--host'", "take it for a flag"),
        ("served_name", "a,b", "a text of one line, found the text 'a,b'", "two names"),
        ("served_name", " a", "a text of one line, found the text ' a'", "spaces"),
        ("served_name", "", "a text of one line, found the text ''", "it is empty"),
        ("tensor_split", "3,1", "a list of numbers that are not negative, found the text '3,1'", "[3, 1]"),
        ("tensor_split", [3, "1"], "a list of numbers that are not negative, found the text '1' in it", ""),
        ("tensor_split", [0, 0], "a list of numbers that are not negative, found no number above 0", ""),
        ("extra_args", "--flag", "a list of texts, found the text '--flag'", "write a list"),
        ("extra_args", ["--n", 8], "a list of texts, found the number 8 in it", "put it in quotes"),
        ("extra_args", ["--n 8"], "a list of texts, found the text '--n 8' in it", "two items"),
        ("extra_args", ["a\x00b"], r"a list of texts, found the text 'a\x00b' in it", "control characters"),
        ("ready_path", "health", "a path that begins with /, found the text 'health'", "write /health"),
        ("container_port", 70000, "a whole number from 1 to 65535, found the number 70000", ""),
    ],
)
def test_a_wrong_value_is_explained(name: str, value: object, message: str, hint: str) -> None:
    """Given a value that somebody might well write, when it is rejected, then the answer says what to write instead."""
    answer = check_value(name, value)
    assert isinstance(answer, Rejected)
    assert answer.message.startswith(f"expected {message}")
    assert hint in answer.hint
    assert bool(answer.hint) == bool(hint)


@pytest.mark.parametrize(
    ("name", "value", "checked"),
    [
        ("tensor_split", [3, 1.5], ("3", "1.5")),
        ("extra_args", ["--json", '{"a": "b c"}', "--key=a b"], ("--json", '{"a": "b c"}', "--key=a b")),
        ("extra_args", [], ()),
        ("chat_template", "/overlays/chat.jinja", "/overlays/chat.jinja"),
        ("api_key", {"secret": "CHAT_KEY"}, SecretRef(secret="CHAT_KEY")),
        ("api_key", SecretRef(secret="CHAT_KEY"), SecretRef(secret="CHAT_KEY")),
        ("served_name", "org/model:7b", "org/model:7b"),
        ("gpu_memory_utilization", 0.92, 0.92),
    ],
)
def test_lists_and_secrets_get_their_argv_form(name: str, value: object, checked: object) -> None:
    """Given lists and a secret's name, when they are checked, then they become what an argv is built from."""
    assert check_value(name, value) == Checked(checked)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["hunter2", 12345, ["hunter2"], {"secret": "hunter2 !"}, {"value": "hunter2"}])
def test_a_key_in_the_file_is_not_repeated(value: object) -> None:
    """Given a key in plain text where a secret's name belongs, when it is rejected, then the answer does not repeat it."""
    answer = check_value("api_key", value)
    assert isinstance(answer, Rejected)
    assert answer.expected == "{secret: NAME}"
    assert "hunter2" not in answer.message + answer.hint
    assert "12345" not in answer.message + answer.hint


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("max_model_length", "max_model_len"),
        ("--max-model-len", "max_model_len"),
        ("ctx_size", "max_model_len"),
        ("CTX_SIZE", "max_model_len"),
        ("tp", "tensor_parallel_size"),
        ("-ngl", "gpu_layers"),
        ("GGUF_FILE", "model_file"),
        ("MODEL_DIR", "model_path"),
        ("KV_TYPE", "kv_cache_dtype"),
        ("VLLM_ENFORCE_EAGER", "enforce_eager"),
        ("temperature", None),
        ("", None),
    ],
)
def test_other_spellings_lead_to_the_name(written: str, meant: str | None) -> None:
    """Given an engine's flag, an older file's variable or a slip, when it is looked up, then Steward's name is suggested."""
    assert suggest(written) == meant


def test_an_unknown_name_is_answered_with_a_suggestion() -> None:
    """Given a name that is no parameter, when a value is checked under it, then the answer names the one that was meant."""
    answer = check_value("max_model_length", 8192)
    assert answer == Rejected("the name of a parameter", "max_model_length", "did you mean max_model_len?")


def test_spellings_are_unambiguous() -> None:
    """Given all other spellings, when they are collected, then none stands for two parameters or is a parameter itself."""
    spellings = [also for row in PARAMETERS.values() for also in row.also]
    assert len(spellings) == len(set(spellings))
    assert not set(spellings) & set(PARAMETERS)


def test_a_generic_tenant_has_parameters_of_its_own() -> None:
    """Given the engine types, when their parameters are listed, then ready_path and container_port are generic's alone."""
    assert parameters_of(DialectName.GENERIC) == {"extra_args", "ready_path", "container_port"}
    others = [parameters_of(name) for name in DialectName if name is not DialectName.GENERIC]
    assert not any({"ready_path", "container_port"} & names for names in others)
    assert all("extra_args" in names for names in others)
