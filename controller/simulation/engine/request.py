"""Completion requests, checked, and the refusals of those that cannot be served."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

ROUTES = ("/v1/completions", "/v1/chat/completions")


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        """HTTP status, OpenAI error type, message."""
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message


@dataclass(frozen=True, slots=True)
class Request:
    """A completion request after its checks. `limit` tokens are its answer; `cut` says that it would have had more."""

    chat: bool
    model: str
    prompt: str
    prompt_tokens: int
    limit: int
    cut: bool
    stream: bool


def request_of(route: str, body: bytes, names: Sequence[str], any_model: bool, context: int, answer_tokens: int) -> Request:
    """The request in a body; raises Refusal."""
    try:
        asked = json.loads(body)
        prompt = json.dumps(asked["messages"]) if "chat" in route else str(asked["prompt"])
        wanted = int(asked.get("max_completion_tokens") or asked.get("max_tokens") or answer_tokens)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refusal(400, "invalid_request_error", "not a completion request") from None
    model, length = str(asked.get("model", names[0])), max(len(prompt) // 4, 1)
    if model not in names and not any_model:
        raise Refusal(404, "NotFoundError", f"The model `{model}` does not exist.")
    if wanted < 1:
        raise Refusal(400, "invalid_request_error", f"max_tokens is {wanted}")
    if length >= context:
        raise Refusal(400, "exceed_context_size_error", f"{length} tokens do not fit into {context}")
    limit = min(wanted, answer_tokens, context - length)
    return Request("chat" in route, model, prompt, length, limit, wanted <= limit, bool(asked.get("stream")))
