"""What an engine answers, as OpenAI's JSON: words, garbage, nothing, or reasoning without a word."""

from __future__ import annotations

import json
from typing import Any, Final

from controller.simulation.engine.request import Request

WORDS: Final = (
    "steady",
    "amber",
    "river",
    "stone",
    "lantern",
    "meadow",
    "copper",
    "harbor",
    "violet",
    "timber",
    "signal",
    "willow",
)


def token(answers: str, request: Request, number: int) -> str:
    """One token of an answer; the same prompt always gets the same ones."""
    if answers == "garbage":
        return "!"
    return ("" if number == 0 else " ") + WORDS[(len(request.prompt) + number * 7) % len(WORDS)]


def whole(request: Request, answers: str, text: str, tokens: int) -> str:
    """An answer in one piece."""
    return json.dumps(_document(request, answers, text, _finish(request, answers), _usage(request, tokens)))


def piece(request: Request, answers: str, text: str) -> str:
    """One token of a streamed answer."""
    return json.dumps(_document(request, answers, text, None, None))


def last_piece(request: Request, answers: str, tokens: int) -> str:
    """What ends a streamed answer."""
    return json.dumps(_document(request, answers, "", _finish(request, answers), _usage(request, tokens)))


def _finish(request: Request, answers: str) -> str:
    return "length" if request.cut and answers != "empty" else "stop"


def _usage(request: Request, tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": request.prompt_tokens,
        "completion_tokens": tokens,
        "total_tokens": request.prompt_tokens + tokens,
    }


def _document(request: Request, answers: str, text: str, finish: str | None, usage: dict[str, int] | None) -> dict[str, Any]:
    thinks = answers == "thinking"
    content: dict[str, Any] = {"content" if request.chat else "text": "" if thinks else text}
    if thinks:
        content["reasoning_content"] = text
    if request.chat:
        content = {"delta" if request.stream else "message": {"role": "assistant", **content}}
    kind = ("chat.completion.chunk" if request.stream else "chat.completion") if request.chat else "text_completion"
    choices = [{"index": 0, **content, "finish_reason": finish}]
    answer = {"id": f"sim-{id(request):x}", "object": kind, "model": request.model, "choices": choices}
    return answer if usage is None else {**answer, "usage": usage}
