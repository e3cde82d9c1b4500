"""What the answers of an engine mean: pure judgements over statuses and bodies that anybody may have written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from controller.model.observed import Completion

SHORT: Final = 200
"""Characters of an engine's own words that a status line has room for."""
REFUSED_KEY: Final = "the api key is refused"


@dataclass(frozen=True, slots=True)
class Answer:
    """One complete HTTP answer. `started_at` is the engine's Process-Start-Time-Unix header, where it sends one."""

    status: int
    body: bytes
    seconds: float = 0.0
    started_at: float | None = None


def said(answer: Answer) -> str:
    """What the body says in one short line: an error's message, a detail, or its first line of text."""
    document = _document(answer.body)
    for path in (("error", "message"), ("message",), ("detail",), ("error",), ("status",)):
        text = _dig(document, path)
        if isinstance(text, str) and text.strip():
            return shorten(text)
    return "" if document is not None else shorten(answer.body[: 4 * SHORT].decode("utf-8", "replace"))


def shorten(text: str) -> str:
    """The first line that says something, without control characters, at most `SHORT` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    printable = "".join(character for character in line if character.isprintable())
    return printable if len(printable) <= SHORT else f"{printable[: SHORT - 3]}..."


def refusal(path: str, answer: Answer) -> str:
    """Why an answer other than 200 is none: the api key, or the status with what the engine says."""
    if answer.status in (401, 403):
        return f"{REFUSED_KEY}: {path} answers {answer.status}"
    words = said(answer)
    return f"{path} answers {answer.status}{f': {words}' if words else ''}"


def listed_names(answer: Answer) -> tuple[str, ...] | None:
    """The model names and aliases of a /v1/models answer, or None when it is not one."""
    models = _dig(_document(answer.body), ("data",))
    if not isinstance(models, list):
        return None
    names: list[str] = []
    for model in models:
        aliases = _dig(model, ("aliases",))
        found = [_dig(model, ("id",)), *(aliases if isinstance(aliases, list) else [])]
        names += [name for name in found if isinstance(name, str)]
    return tuple(dict.fromkeys(names))


def unlisted(name: str, names: tuple[str, ...] | None) -> str:
    """Why the served name does not count as served; empty when it is listed."""
    if names is None:
        return "the model list is not one"
    if name in names:
        return ""
    return shorten(f"serves {', '.join(names) or 'no model'} and not {name}")


def judge_completion(answer: Answer) -> Completion:
    """Whether tokens really came back: a 200 alone proves nothing, and a thinking model may be cut before its first word."""
    if answer.status != 200:
        return Completion(False, refusal("the completion", answer), answer.seconds)
    document = _document(answer.body)
    tokens = _tokens(document)
    choices = _dig(document, ("choices",))
    choice = choices[0] if isinstance(choices, list) and choices else None
    finish = _dig(choice, ("finish_reason",))
    if fault := _completion_fault(choice, finish, tokens):
        return Completion(False, fault, answer.seconds, tokens)
    return Completion(True, f"{tokens} tokens, finish reason {finish}", answer.seconds, tokens)


def _completion_fault(choice: object, finish: object, tokens: int) -> str:
    if not isinstance(choice, Mapping):
        return "the completion has no choice in it"
    if not isinstance(finish, str) or not finish:
        return "the completion has no finish reason"
    if tokens < 1:
        return "the completion counts no token"
    if not _has_content(choice) and finish != "length":
        return f"the completion is empty although it counts {tokens} tokens"
    return ""


def _has_content(choice: Mapping[str, object]) -> bool:
    holders: tuple[object, ...] = (choice, choice.get("message"))
    keys = ("text", "content", "reasoning", "reasoning_content", "tool_calls")
    return any(_dig(holder, (key,)) for holder in holders for key in keys)


def _tokens(document: object) -> int:
    tokens = _dig(document, ("usage", "completion_tokens"))
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else 0


def _document(body: bytes) -> object:
    """The JSON of a body, or None; nesting and numbers that Python refuses count as no JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _dig(value: object, path: tuple[str, ...]) -> object:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value
